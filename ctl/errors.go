package ctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
)

// An apiError is an answer other than 200.
type apiError struct {
	Status int
	URL    string
	apiErrorBody
	amounts string // those of Details for people, in a class's decimals
}

func newAPIError(a *answer) *apiError {
	e := &apiError{Status: a.status, URL: a.url}
	var body struct {
		Error apiErrorBody `json:"error"`
	}
	if json.Unmarshal(a.body, &body) == nil {
		e.apiErrorBody = body.Error
	}
	return e
}

// apiErrorBody is the inner object of an error.
type apiErrorBody struct {
	Code    string          `json:"code"` // "" if the answer is no error of the ledger's
	Message string          `json:"message"`
	Details json.RawMessage `json:"details"`
	OpIndex *int            `json:"operation_index"`
}

// json is the body of an answer that is this error.
func (b *apiErrorBody) json() []byte {
	text, _ := json.Marshal(map[string]any{"error": map[string]any{"code": b.Code, "message": b.Message, "details": b.Details}})
	return text
}

// String is the error in words: code, operation, message without its period,
// since more may follow.
func (b *apiErrorBody) String() string {
	message := strings.TrimSuffix(b.Message, ".")
	if b.OpIndex != nil {
		return fmt.Sprintf("%s: operation %d: %s", b.Code, *b.OpIndex, message)
	}
	return b.Code + ": " + message
}

func (e *apiError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("%s answered %d %s, which is no answer of the ledger's: check -write-url and -read-url",
			e.URL, e.Status, http.StatusText(e.Status))
	}
	s := e.apiErrorBody.String() + e.amounts
	if e.Code == "Unauthorized" {
		s += " (a token is taken from -token-file or LEDGER_TOKEN)"
	}
	if e.Code == "NotFound" || e.Code == "MethodNotAllowed" {
		s += " (asked at " + e.URL + ": check -write-url and -read-url)"
	}
	return s
}

func (e *apiError) exitCode() int {
	switch {
	case e.Status == http.StatusTooEarly:
		return exitStale
	case e.Status >= 500:
		return exitSilent
	case e.Status >= 400:
		return exitRefused
	}
	return exitFailure
}

// A noAnswer is a request that was not answered: no connection, or none that
// held, or not in time.
type noAnswer struct {
	url string
	err error
}

func (e *noAnswer) Unwrap() error { return e.err }

func (e *noAnswer) Error() string {
	switch {
	case errors.Is(e.err, context.DeadlineExceeded), errors.Is(e.err, os.ErrDeadlineExceeded):
		return fmt.Sprintf("no answer from %s in time: -timeout gives it longer", e.url)
	case errors.Is(e.err, syscall.ECONNREFUSED), errors.Is(e.err, syscall.ENOENT):
		return fmt.Sprintf("nothing listens at %s: is the daemon running, and is this its address?", e.url)
	}
	if why := distrust(e.err); why != "" {
		return fmt.Sprintf("no answer from %s: %s", e.url, why)
	}
	cause := e.err
	var wrapped *url.Error
	if errors.As(cause, &wrapped) {
		cause = wrapped.Err // without the method and address again
	}
	if errors.Is(cause, io.EOF) || errors.Is(cause, io.ErrUnexpectedEOF) {
		return fmt.Sprintf("no answer from %s: it closed the connection", e.url)
	}
	return fmt.Sprintf("no answer from %s: %v", e.url, cause)
}

// neverSent says that the request cannot have reached a daemon.
func (e *noAnswer) neverSent() bool {
	if op, ok := errors.AsType[*net.OpError](e.err); ok && op.Op == "dial" {
		return true
	}
	return errors.Is(e.err, syscall.ECONNREFUSED) || errors.Is(e.err, syscall.ENOENT) || distrust(e.err) != ""
}
