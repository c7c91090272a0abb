package client

import (
	"context"
	"crypto/x509"
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

// Refused is the error for a request that the ledger rejected. Nothing changed. docs/api.md lists the codes.
type Refused struct {
	Status         int             `json:"-"`    // of the response; 0 in a Verdict
	URL            string          `json:"-"`    // of the request, without the query; "" in a Verdict
	Code           string          `json:"code"` // "" if the response is not from a ledger
	Message        string          `json:"message"`
	Details        json.RawMessage `json:"details"`
	OperationIndex *int            `json:"operation_index,omitempty"`
}

// Error returns the code, the operation, and the message without its period.
func (e *Refused) Error() string {
	message := strings.TrimSuffix(e.Message, ".")
	switch {
	case e.Code == "":
		return fmt.Sprintf("%s returned %d %s, which is not a response from the ledger", e.URL, e.Status, http.StatusText(e.Status))
	case e.OperationIndex != nil:
		return fmt.Sprintf("%s: operation %d: %s", e.Code, *e.OperationIndex, message)
	}
	return e.Code + ": " + message
}

// Code returns the code of the *Refused in err, or "" if there is none.
func Code(err error) string {
	if refused, ok := errors.AsType[*Refused](err); ok {
		return refused.Code
	}
	return ""
}

// Unavailable is the error for a call that no daemon accepted in time. Nothing changed.
type Unavailable struct{ Err error }

// Error returns the last failure.
func (e *Unavailable) Error() string { return "no daemon accepted the request: " + e.Err.Error() }

// Unwrap returns the last failure.
func (e *Unavailable) Unwrap() error { return e.Err }

// decided returns the error for a rejection that a retry would not change. It is an *Unavailable if the response is not
// from a ledger.
func decided(r *Refused) error {
	if r.Code == "" {
		return &Unavailable{r}
	}
	return r
}

// OutcomeUnknown is the error for a commit that may have taken effect. Repeat it with the same key.
type OutcomeUnknown struct {
	Key string // idempotency key; for CommitAll, that of the first transaction whose outcome is unknown
	Err error
}

// Error returns the last failure and the key.
func (e *OutcomeUnknown) Error() string {
	return fmt.Sprintf("%v; it is unknown whether the transaction was committed: repeat it with the key %q", e.Err, e.Key)
}

// Unwrap returns the last failure.
func (e *OutcomeUnknown) Unwrap() error { return e.Err }

// NoAnswer is the error for one attempt without a usable response: there was no connection, it broke, a timeout expired, or
// the response was too large or said that the same request may succeed later.
type NoAnswer struct {
	URL string // base URL of the daemon
	Err error
}

// Unwrap returns the cause.
func (e *NoAnswer) Unwrap() error { return e.Err }

// Error describes the cause.
func (e *NoAnswer) Error() string {
	switch {
	case errors.Is(e.Err, context.DeadlineExceeded), errors.Is(e.Err, os.ErrDeadlineExceeded):
		return fmt.Sprintf("no response from %s in time", e.URL)
	case errors.Is(e.Err, syscall.ECONNREFUSED), errors.Is(e.Err, syscall.ENOENT):
		return fmt.Sprintf("no daemon is listening at %s: is it running, and is this its address?", e.URL)
	}
	cause := e.Err
	if why := e.distrust(); why != "" {
		return fmt.Sprintf("no response from %s: %s", e.URL, why)
	}
	if wrapped, ok := errors.AsType[*url.Error](cause); ok {
		cause = wrapped.Err // its text would repeat the address
	}
	if errors.Is(cause, io.EOF) || errors.Is(cause, io.ErrUnexpectedEOF) {
		return fmt.Sprintf("no response from %s: it closed the connection", e.URL)
	}
	return fmt.Sprintf("no response from %s: %v", e.URL, cause)
}

// NeverSent reports whether the request cannot have reached a daemon.
func (e *NoAnswer) NeverSent() bool {
	if op, ok := errors.AsType[*net.OpError](e.Err); ok && op.Op == "dial" {
		return true
	}
	return errors.Is(e.Err, syscall.ECONNREFUSED) || errors.Is(e.Err, syscall.ENOENT) || e.distrust() != ""
}

// distrust returns why the certificate of the daemon is not trusted, or "" if the failure has
// another cause.
func (e *NoAnswer) distrust() string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](e.Err); ok {
		return "its certificate is not signed by a trusted authority"
	}
	host, isHost := errors.AsType[x509.HostnameError](e.Err)
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](e.Err)
	switch {
	case isHost:
		return "its certificate can't be trusted: " + host.Error()
	case isInvalid:
		return "its certificate can't be trusted: " + invalid.Error()
	}
	return ""
}
