package ctl

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"assetledger/ctl/client"
	"assetledger/server/httpclient"
)

func newClient(how *connecting, idle int) *client.Client {
	return client.New(client.Options{Token: how.token, UserAgent: "ledgerctl", Timeout: -1, Transport: func(base string) (*http.Transport, error) {
		if err := how.trust.Fits(base); err != nil {
			return nil, err
		}
		return how.trust.Transport(base, idle)
	}})
}

const idle = 4

// An answer is the response of a daemon, with any status.
type answer struct{ client.Answer }

type request = client.Request

// received converts the result of a request. It adds hints to errors; see inWords.
func received(a *client.Answer, err error) (*answer, error) {
	if err != nil {
		return nil, inWords(err)
	}
	return &answer{*a}, nil
}

// check returns nil if the status is 200, and otherwise the error in the response.
func (a *answer) check() error { return inWords(a.Err()) }

// decode decodes the response's JSON into v. It ignores fields that v does not have.
func (a *answer) decode(v any) error {
	if err := json.Unmarshal(a.Body, v); err != nil {
		return notALedgers(a.URL, "%v", err)
	}
	return nil
}

func (a *answer) data(v any) error { return a.decode(&struct{ Data any }{v}) }

// part returns a part of the response as an answer, so that decode names the same URL.
func (a *answer) part(body []byte) *answer { return &answer{client.Answer{Body: body, URL: a.URL}} }

// lacks returns the error for a response without a field that every ledger sends.
func (a *answer) lacks(field string) error { return notALedgers(a.URL, "it has no "+field) }

func notALedgers(url, format string, args ...any) error {
	return fmt.Errorf("the response of %s is not from a ledger: "+format, append([]any{url}, args...)...)
}

// askQuietly sends a request once, with the timeout, and shows nothing.
func (c *call) askQuietly(r request) (*answer, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.timeout.Duration)
	defer cancel()
	return received(c.api.Do(ctx, r))
}

// ask is like askQuietly, but for any status except 200 it calls refusal, and returns its
// error.
func (c *call) ask(r request) (*answer, error) {
	a, err := c.askQuietly(r)
	if err != nil {
		return nil, err
	}
	return a, c.refusal(a)
}

// peek sends a query to the read daemon, and shows nothing.
func (c *call) peek(path string, query url.Values) (*answer, error) {
	return c.askQuietly(request{Method: http.MethodGet, Base: c.readURL, Path: path, Query: query})
}

// read decodes the data at a path of the read daemon into v, a pointer, and shows nothing.
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

func (c *call) get(base, path string, query url.Values) (*answer, error) {
	return c.ask(request{Method: http.MethodGet, Base: base, Path: path, Query: query})
}

// refusal returns the error in a response, or nil. With JSON output it also shows the
// response, for programs. The caller reports the message on standard error.
func (c *call) refusal(a *answer) error {
	err := a.check()
	if err != nil && c.json() && json.Valid(a.Body) {
		c.showRaw(a)
	} else if refused, ok := errors.AsType[*apiError](err); ok {
		c.toPeople(refused)
	}
	return err
}

// showRaw writes the response unchanged, on a line of its own.
func (c *call) showRaw(a *answer) {
	c.raw(bytes.TrimRight(a.Body, "\n"))
	c.out.WriteByte('\n')
}

// raw writes JSON or text of a response. To a file or pipe it writes the bytes unchanged.
// For a terminal it replaces invalid UTF-8, and escapes unprintable characters other than
// line breaks and tabs in a way that does not change the meaning of JSON strings.
func (c *call) raw(text []byte) {
	if c.screen.terminal {
		text = []byte(escape(strings.ToValidUTF8(string(text), "\ufffd"), "\n\t"))
	}
	c.out.Write(text)
}

type connecting struct {
	trust     httpclient.Trust
	tokenFile string
	token     string // from the environment, or from the file
}

// envToken is the environment variable for a token. There is no flag for it,
// because everyone on a machine can see the flags of a program.
const envToken = "LEDGER_TOKEN"

func (o *connecting) load(env func(string) (string, bool)) (err error) {
	if err := o.trust.Check(); err != nil {
		return err
	}
	if o.tokenFile == "" {
		o.token, _ = env(envToken)
		return httpclient.CheckToken(o.token, "in "+envToken)
	}
	o.token, err = httpclient.ReadToken("token-file", o.tokenFile)
	return err
}

// An apiError is a rejection by the ledger.
type apiError = client.Refused

// inWords adds a hint to an error of the client if one of ledgerctl's flags may help.
func inWords(err error) error {
	if unavailable, ok := err.(*client.Unavailable); ok {
		err = unavailable.Err
	}
	refused, isRefused := errors.AsType[*apiError](err)
	_, isSilent := errors.AsType[*client.NoAnswer](err)
	hint := ""
	switch {
	case isRefused && refused.Code == "":
		hint = ": check -write-url and -read-url"
	case isRefused && refused.Code == "Unauthorized":
		hint = " (a token is taken from -token-file or LEDGER_TOKEN)"
	case isRefused && (refused.Code == "NotFound" || refused.Code == "MethodNotAllowed"):
		hint = " (asked at " + refused.URL + ": check -write-url and -read-url)"
	case !isSilent:
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		hint = ": to wait longer, use -timeout"
	case errors.As(err, new(x509.UnknownAuthorityError)):
		hint = ": give the root certificate of its signer with -ca"
	case errors.As(err, new(tls.AlertError)):
		hint = ": see -cert and -cert-key"
	}
	if hint == "" {
		return err
	}
	return fmt.Errorf("%w%s", err, hint)
}

// follow yields every commit after `after`, until ctx is done. It replaces lost
// connections, and gives up if that fails for the whole timeout. The maximum time until the
// next commit is `within`, for a log that is known to have further ones; 0 means no limit.
func (c *call) follow(ctx context.Context, after int64, within time.Duration) iter.Seq2[client.Commit, error] {
	return func(yield func(client.Commit, error) bool) {
		for commit, err := range c.api.Feed(ctx, client.FeedOptions{Base: c.readURL, After: after, Lost: c.lost, Within: within}) {
			if ctx.Err() != nil || err == nil && !yield(commit, nil) {
				return
			}
			if err == nil && !commit.More {
				err = c.out.Flush() // show what there is before waiting for more
			}
			if err != nil {
				yield(commit, inWords(err))
				return
			}
		}
	}
}

// lost reports a lost connection of the feed. It returns an error, which ends the feed,
// after the timeout, or at once if the first request could not be sent.
func (c *call) lost(err error, since time.Duration, connected bool) error {
	silent, _ := errors.AsType[*client.NoAnswer](err)
	err = inWords(err)
	switch {
	case since == 0 && !connected && silent.NeverSent():
		return err
	case since == 0:
		c.say("%v; retrying", err)
	case since > c.timeout.Duration:
		return exitf(exitSilent, "%v; gave up after %v: to wait longer, use -timeout", err, c.timeout.Duration)
	}
	return nil
}

// lastSeq asks the read daemon for the last durable commit.
func (c *call) lastSeq() (int64, error) {
	a, err := c.get(c.readURL, "/v1/read/freshness", nil)
	var e entry
	if err == nil {
		e, err = a.freshness()
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(e["commit_log_seq"]), 10, 64)
}
