package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options configures a client. The zero value is for a ledger on this machine with the default ports.
type Options struct {
	// Write and Read are base URLs of write and read daemons: http://, https:// or unix:/path, separated by commas. The
	// client skips a daemon that it can't connect to, and a write daemon that is not the writer. Default: ports 8080 and
	// 8081 of localhost.
	Write, Read string
	Token       string        // bearer token; "": none
	TLS         *tls.Config   // for https; nil: with the system's root certificates
	Timeout     time.Duration // maximum duration of one attempt; default 30 s; no maximum if negative
	GiveUp      time.Duration // maximum duration of a call with all its attempts; default 60 s
	UserAgent   string        // default ledger-client
	// Transport returns a transport for a base URL. Default: NewTransport.
	Transport func(base string) (*http.Transport, error)
}

// A Client is a client of one ledger. Any number of goroutines may use it.
type Client struct {
	o     Options
	last  atomic.Int64 // highest global_seq that this client has committed
	pause func(context.Context, time.Duration) error
	most  int64 // maximum size of a response, or of an event of the feed, in bytes

	mu    sync.Mutex
	pools map[string]*http.Client
	inUse map[string]int // by list of base URLs: index of the address in use, modulo the number of addresses
}

// New returns a client. It connects on first use.
func New(o Options) *Client {
	o.Write, o.Read = cmp.Or(o.Write, "http://127.0.0.1:8080"), cmp.Or(o.Read, "http://127.0.0.1:8081")
	o.Timeout, o.GiveUp = cmp.Or(o.Timeout, 30*time.Second), cmp.Or(o.GiveUp, time.Minute)
	o.UserAgent = cmp.Or(o.UserAgent, "ledger-client")
	if o.Transport == nil {
		o.Transport = func(base string) (*http.Transport, error) { return NewTransport(base, o.TLS, 4), nil }
	}
	return &Client{o: o, pause: Pause, most: maxAnswer, pools: map[string]*http.Client{}, inUse: map[string]int{}}
}

// Close closes the idle connections.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pool := range c.pools {
		pool.CloseIdleConnections()
	}
}

// LastSeq returns the highest global_seq that this client has committed. Its reads wait for that commit.
func (c *Client) LastSeq() int64 { return c.last.Load() }

// NewTransport returns a transport for a base URL. The transport keeps at most the given number of idle connections.
func NewTransport(base string, config *tls.Config, idle int) *http.Transport {
	t := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConnsPerHost:    idle,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second}).DialContext, // a host that is down never responds
	}
	if path, ok := strings.CutPrefix(base, "unix:"); ok {
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
	}
	return t
}

// OverHTTP returns the prefix of the URLs in HTTP requests to a base URL: http://localhost for a unix socket, and otherwise
// the base URL without slashes at the end.
func OverHTTP(base string) string {
	if strings.HasPrefix(base, "unix:") {
		return "http://localhost"
	}
	return strings.TrimRight(base, "/")
}

// NoRedirect is a CheckRedirect function that follows no redirect. The ledger never redirects.
func NoRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// maxAnswer is the maximum size of a response in bytes. The largest is the response to a full batch whose transactions
// have the largest possible metadata.
const maxAnswer = 256 << 20

// A Request is a request to a daemon.
type Request struct {
	Method, Base, Path string
	Query              url.Values
	Body               []byte // JSON
	Key                string // X-Idempotency-Key, "" for none
	First              int64  // number of bytes to read of a 200 response; 0: all
}

// An Answer is the response of a daemon, with any status.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	URL    string // of the request, without the query
}

// Err returns nil if the status is 200, and otherwise a *Refused.
func (a *Answer) Err() error {
	if a.Status == http.StatusOK {
		return nil
	}
	return a.Refused()
}

// Refused returns the response as an error.
func (a *Answer) Refused() *Refused {
	var body struct{ Error *Refused }
	if json.Unmarshal(a.Body, &body) != nil || body.Error == nil {
		body.Error = &Refused{}
	}
	body.Error.Status, body.Error.URL = a.Status, a.URL
	return body.Error
}

// Do sends a request once. It skips addresses of r.Base that it can't connect to, and standbys. If there is no response,
// the error is a *NoAnswer. Any other error means that the request is invalid, or that Options.Transport failed.
func (c *Client) Do(ctx context.Context, r Request) (*Answer, error) {
	return c.eachAddress(ctx, r.Base, func(address string) (*Answer, error) {
		full := OverHTTP(address) + r.Path
		if len(r.Query) > 0 {
			full += "?" + r.Query.Encode()
		}
		req, err := http.NewRequestWithContext(ctx, r.Method, full, bytes.NewReader(r.Body))
		if err != nil {
			return nil, err
		}
		if r.Method == http.MethodPost {
			req.Header.Set("Content-Type", "application/json")
		}
		if r.Key != "" {
			req.Header.Set("X-Idempotency-Key", r.Key)
		}
		resp, err := c.send(address, req)
		if err != nil {
			return nil, err
		}
		if r.First > 0 && resp.StatusCode == http.StatusOK {
			resp.Body = struct {
				io.Reader
				io.Closer
			}{io.LimitReader(resp.Body, r.First), resp.Body}
		}
		return c.readAnswer(resp, address, r.Path)
	})
}

// send sends a request to one address with the client's credentials.
func (c *Client) send(address string, req *http.Request) (*http.Response, error) {
	pool, err := c.pool(address)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", c.o.UserAgent)
	if c.o.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.o.Token)
	}
	resp, err := pool.Do(req)
	if err != nil {
		return nil, &NoAnswer{address, err}
	}
	return resp, nil
}

func (c *Client) pool(address string) (*http.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pools[address] == nil {
		transport, err := c.o.Transport(address)
		if err != nil {
			return nil, err
		}
		c.pools[address] = &http.Client{Transport: transport, CheckRedirect: NoRedirect}
	}
	return c.pools[address], nil
}

func (c *Client) readAnswer(resp *http.Response, address, path string) (*Answer, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.most+1))
	if err == nil && int64(len(body)) > c.most {
		err = fmt.Errorf("its response is larger than %d bytes", c.most)
	}
	if err != nil {
		return nil, &NoAnswer{address, err}
	}
	return &Answer{resp.StatusCode, resp.Header, body, address + path}, nil
}

// eachAddress calls the function ask with one address of a base after another, while the request can't be sent or the
// daemon is a standby. If the request may have taken effect, eachAddress sends it to no other address, but the next attempt
// begins with the next address.
func (c *Client) eachAddress(ctx context.Context, base string, ask func(address string) (*Answer, error)) (a *Answer, err error) {
	for range strings.Count(base, ",") + 1 {
		address := c.address(base)
		a, err = ask(address)
		silent, isSilent := err.(*NoAnswer)
		if !isSilent && (a == nil || a.Status != http.StatusServiceUnavailable || Code(a.Err()) != "NotTheWriter") {
			return a, err
		}
		if c.turn(base, address); isSilent && !silent.NeverSent() || ctx.Err() != nil {
			return a, err
		}
	}
	return a, err
}

// address returns the address of a base that is currently in use.
func (c *Client) address(base string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := strings.Split(base, ",")
	return list[c.inUse[base]%len(list)]
}

// turn selects the next address of a base, if the address that failed is still in use.
func (c *Client) turn(base, failed string) {
	if c.address(base) == failed {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.inUse[base]++
	}
}
