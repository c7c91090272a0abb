package ctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"syscall"
)

// An apiError is an answer other than 200.
type apiError struct {
	Status  int
	Code    string // "" if the answer is no error of the ledger's
	Message string
	Details json.RawMessage
	OpIndex *int
	URL     string
}

func newAPIError(a *answer) *apiError {
	e := &apiError{Status: a.status, URL: a.url}
	var body struct {
		Error apiErrorBody `json:"error"`
	}
	if json.Unmarshal(a.body, &body) == nil {
		e.Code, e.Message, e.Details, e.OpIndex = body.Error.Code, body.Error.Message, body.Error.Details, body.Error.OpIndex
	}
	return e
}

// apiErrorBody is the inner object of an error.
type apiErrorBody struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details"`
	OpIndex *int            `json:"operation_index"`
}

// String is the error in words: code, operation, message.
func (b *apiErrorBody) String() string {
	if b.OpIndex != nil {
		return fmt.Sprintf("%s: operation %d: %s", b.Code, *b.OpIndex, b.Message)
	}
	return b.Code + ": " + b.Message
}

func (e *apiError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("%s answered %d %s, which is no answer of the ledger's: check -write-url and -read-url",
			e.URL, e.Status, http.StatusText(e.Status))
	}
	s := (&apiErrorBody{Code: e.Code, Message: e.Message, OpIndex: e.OpIndex}).String()
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
	case errors.Is(e.err, syscall.ECONNREFUSED):
		return fmt.Sprintf("nothing listens at %s: is the daemon running, and is this its address?", e.url)
	}
	return fmt.Sprintf("no answer from %s: %v", e.url, e.err)
}

// neverSent says that the request cannot have reached a daemon.
func (e *noAnswer) neverSent() bool { return errors.Is(e.err, syscall.ECONNREFUSED) }
