package ctl

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"unicode/utf16"

	"assetledger/ctl/client"
)

// newClient makes the client of a run, which keeps some idle connections to each daemon.
func newClient(how *connecting, idle int) *client.Client {
	return client.New(client.Options{Token: how.token, UserAgent: "ledgerctl", Timeout: -1, Transport: func(base string) (*http.Transport, error) {
		trust := how.trust()
		if err := trust.Fits(base); err != nil {
			return nil, asUsage(err)
		}
		transport, err := trust.Transport(base, idle)
		return transport, asUsage(err)
	}})
}

// idle is the number of idle connections kept to a daemon.
const idle = 4

// An answer is the response of a daemon, whatever its status.
type answer struct{ client.Answer }

// A request is a single request to a daemon.
type request = client.Request

// received returns the outcome of a request, with errors in ledgerctl's words.
func received(a *client.Answer, err error) (*answer, error) {
	if err != nil {
		return nil, inWords(err)
	}
	return &answer{*a}, nil
}

// check returns nil for a 200, and otherwise the error that the response is.
func (a *answer) check() error {
	if a.Status == http.StatusOK {
		return nil
	}
	return newAPIError(a)
}

// decode reads the response's JSON into v. Fields that v does not have are ignored.
func (a *answer) decode(v any) error {
	if err := json.Unmarshal(a.Body, v); err != nil {
		return notALedgers(a.URL, "%v", err)
	}
	return nil
}

// data reads the data of the response into v, a pointer.
func (a *answer) data(v any) error { return a.decode(&struct{ Data any }{v}) }

// part returns a part of the response, to be decoded like it.
func (a *answer) part(body []byte) *answer { return &answer{client.Answer{Body: body, URL: a.URL}} }

// lacks returns the error for a response without a field that every response of a
// ledger has. It comes from another server, or a proxy.
func (a *answer) lacks(field string) error { return notALedgers(a.URL, "it has no "+field) }

// notALedgers returns the error for a response that no ledger gives.
func notALedgers(url, format string, args ...any) error {
	return fmt.Errorf("the answer of %s is not what the ledger says: "+format, append([]any{url}, args...)...)
}

// askQuietly sends a request once within the time allowed and shows nothing.
func (c *call) askQuietly(r request) (*answer, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.timeout.Duration)
	defer cancel()
	return received(c.api.Do(ctx, r))
}

// ask sends a request once within the time allowed and returns an error for any
// status but 200.
func (c *call) ask(r request) (*answer, error) {
	a, err := c.askQuietly(r)
	if err != nil {
		return nil, err
	}
	return a, c.refusal(a)
}

// peek reads from the read daemon, and shows nothing.
func (c *call) peek(path string, query url.Values) (*answer, error) {
	return c.askQuietly(request{Method: http.MethodGet, Base: c.readURL, Path: path, Query: query})
}

// read reads the data at a path of the read daemon into v, a pointer, and shows nothing.
func (c *call) read(path string, query url.Values, v any) error {
	a, err := c.peek(path, query)
	if err == nil {
		err = a.check()
	}
	if err != nil {
		return err
	}
	return a.data(v)
}

// get requests one page.
func (c *call) get(base, path string, query url.Values) (*answer, error) {
	return c.ask(request{Method: http.MethodGet, Base: base, Path: path, Query: query})
}

// refusal returns the error in a response, if it is one. As JSON it is shown like
// any response, for programs; the message goes to standard error later.
func (c *call) refusal(a *answer) error {
	err := a.check()
	if err != nil && c.json() && json.Valid(a.Body) {
		c.showRaw(a)
	} else if refused, ok := err.(*apiError); ok {
		c.toPeople(&refused.Refused)
	}
	return err
}

// showRaw writes the response unchanged, on one line of its own.
func (c *call) showRaw(a *answer) {
	c.raw(bytes.TrimRight(a.Body, "\n"))
	c.out.WriteByte('\n')
}

// raw writes bytes from other sources, unchanged to a file or pipe. On a
// terminal, characters that could control it are written as \u escapes, which mean
// the same inside a JSON string; line breaks and tabs stay.
func (c *call) raw(text []byte) {
	if !c.screen.terminal {
		c.out.Write(text)
		return
	}
	for _, r := range string(text) {
		switch {
		case r == '\n', r == '\t', !unprintable(r):
			c.out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(c.out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(c.out, `\u%04x`, r)
		}
	}
}
