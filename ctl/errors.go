package ctl

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"os"

	"assetledger/ctl/client"
)

// An apiError is a response with a status other than 200.
type apiError struct{ client.Refused }

func newAPIError(a *answer) *apiError { return &apiError{*a.Refused()} }

func (e *apiError) Error() string {
	s := e.Refused.Error()
	switch e.Code {
	case "":
		s += ": check -write-url and -read-url"
	case "Unauthorized":
		s += " (a token is taken from -token-file or LEDGER_TOKEN)"
	case "NotFound", "MethodNotAllowed":
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

// A noAnswer is a request without a response: there was no connection, it broke, or
// it took too long.
type noAnswer struct{ *client.NoAnswer }

func (e *noAnswer) Error() string {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](e.Err)
	_, alert := errors.AsType[tls.AlertError](e.Err)
	s := e.NoAnswer.Error()
	switch {
	case errors.Is(e.Err, context.DeadlineExceeded), errors.Is(e.Err, os.ErrDeadlineExceeded):
		s += ": -timeout gives it longer"
	case unknown:
		s += ": -ca names the file of who signed it"
	case alert:
		s += ": see -cert and -cert-key"
	}
	return s
}

// inWords adds the flags that are concerned to an error of the client.
func inWords(err error) error {
	switch err := err.(type) {
	case *client.NoAnswer:
		return &noAnswer{err}
	case *client.Refused:
		return &apiError{*err}
	}
	return err
}
