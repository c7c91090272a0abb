package ctl

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
	"unicode/utf16"

	"assetledger/server/httpclient"
)

// maxAnswer bounds an answer, in bytes. The largest is that of a full batch
// whose every transaction has the largest metadata.
const maxAnswer = 256 << 20

// A client asks the daemons. It follows no redirects and keeps its connections.
// Any goroutine may ask.
type client struct {
	how   *connecting
	pause func(ctx context.Context, d time.Duration) error // between tries

	mu     sync.Mutex
	byBase map[string]*http.Client
	inUse  map[string]int // of the addresses of a base
	idle   int            // connections to a daemon that are kept while nobody asks
}

func newClient(how *connecting) *client {
	return &client{how: how, byBase: map[string]*http.Client{}, pause: pause, idle: 4}
}

// to is the client for a base address.
func (c *client) to(base string) (*http.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.byBase[base]; known != nil {
		return known, nil
	}
	made, err := c.how.client(base, c.idle)
	if err == nil {
		c.byBase[base] = made
	}
	return made, err
}

// pause waits for d, or until ctx is done.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send sends a request to the daemon at base, as whom ledgerctl is. That there
// is no answer is a noAnswer.
func (c *client) send(base string, req *http.Request) (*http.Response, error) {
	via, err := c.to(base)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "ledgerctl")
	if c.how.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.how.token)
	}
	resp, err := via.Do(req)
	if err != nil {
		return nil, &noAnswer{url: base, err: err}
	}
	return resp, nil
}

// An answer is what a daemon said, whatever its status.
type answer struct {
	status int
	header http.Header
	body   []byte
	url    string // without the query
}

// A request is one question to a daemon.
type request struct {
	method, base, path string
	query              url.Values
	body               []byte // of a POST; JSON
	key                string // idempotency key, "" for none
}

// do asks once, at an address that can be reached. An error is a noAnswer:
// whether the request took effect is unknown.
func (c *client) do(ctx context.Context, r request) (*answer, error) {
	return c.eachAddress(ctx, r.base, func(address string) (*answer, error) {
		at := r
		at.base = address
		return c.doAt(ctx, at)
	})
}

// doAt asks once, at the one address of r.
func (c *client) doAt(ctx context.Context, r request) (*answer, error) {
	address := r.base + r.path
	full := httpclient.OverHTTP(r.base) + r.path
	if len(r.query) > 0 {
		full += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, full, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	if r.method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		req.Header.Set("X-Idempotency-Key", r.key)
	}
	resp, err := c.send(r.base, req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, &noAnswer{url: r.base, err: err}
	}
	if len(body) > maxAnswer {
		return nil, &noAnswer{url: r.base, err: fmt.Errorf("its answer is larger than %d bytes", maxAnswer)}
	}
	return &answer{status: resp.StatusCode, header: resp.Header, body: body, url: address}, nil
}

// check is nil for a 200, and otherwise the error that the answer is.
func (a *answer) check() error {
	if a.status == http.StatusOK {
		return nil
	}
	return newAPIError(a)
}

// decode reads the answer's JSON into v. Fields that v does not have are left.
func (a *answer) decode(v any) error {
	if err := json.Unmarshal(a.body, v); err != nil {
		return fmt.Errorf("the answer of %s is not what the ledger says: %v", a.url, err)
	}
	return nil
}

// lacks is the error of an answer without a field that every ledger's has: it is
// another server's, or a proxy's.
func (a *answer) lacks(field string) error {
	return fmt.Errorf("the answer of %s is not what the ledger says: it has no %s", a.url, field)
}

// askQuietly asks once within the time allowed and shows nothing.
func (c *call) askQuietly(r request) (*answer, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.timeout.Duration)
	defer cancel()
	return c.api.do(ctx, r)
}

// ask asks once within the time allowed and refuses all answers but 200.
func (c *call) ask(r request) (*answer, error) {
	a, err := c.askQuietly(r)
	if err != nil {
		return nil, err
	}
	return a, c.refusal(a)
}

// get asks for one page.
func (c *call) get(base, path string, query url.Values) (*answer, error) {
	return c.ask(request{method: http.MethodGet, base: base, path: path, query: query})
}

// refusal is the error that an answer is, if it is one. As JSON it is shown
// like any answer, for programs; the words go to standard error later.
func (c *call) refusal(a *answer) error {
	err := a.check()
	if err != nil && c.json() && json.Valid(a.body) {
		c.showRaw(a)
	} else if refused, ok := err.(*apiError); ok {
		refused.amounts = c.amountsOf(refused.Details)
	}
	return err
}

// showRaw writes the answer as it came, on one line of its own.
func (c *call) showRaw(a *answer) {
	c.raw(bytes.TrimRight(a.body, "\n"))
	c.out.WriteByte('\n')
}

// raw writes bytes that come from elsewhere: as they are to a file or pipe.
// On a terminal, characters that could steer it are written as \u escapes,
// which mean the same inside a JSON string; line breaks and tabs stay.
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
