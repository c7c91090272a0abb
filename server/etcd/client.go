package etcd

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Config says where a cluster is, and how to authenticate.
type Config struct {
	Endpoints []string // host:port of the members
	// TLS is nil for plain-text connections. Its certificate, if any, authenticates
	// the client.
	TLS            *tls.Config
	User, Password string // "" for no user
	// Timeout is the maximum duration of each request except that of Watch; 0 means
	// DefaultTimeout.
	Timeout time.Duration
}

// DefaultTimeout is longer than the members take to notice that their leader has
// failed, and shorter than the lease of a writer.
const DefaultTimeout = 1500 * time.Millisecond

// maxAnswer is the maximum size of a response in bytes.
const maxAnswer = 64 << 20

// A Client is a client of one cluster.
type Client struct {
	c     Config
	http  *http.Client // HTTP/2, for gRPC
	plain *http.Client // HTTP/1.1, for the members' metrics
	at    atomic.Uint32

	mu    sync.Mutex
	token string // authentication token; "" if none yet
}

// NewClient returns a client. It connects on its first call.
func NewClient(c Config) *Client {
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	var two, one http.Protocols
	two.SetHTTP2(c.TLS != nil)
	two.SetUnencryptedHTTP2(c.TLS == nil)
	one.SetHTTP1(true)
	transport := func(p *http.Protocols, conf *tls.Config) *http.Client {
		return &http.Client{Transport: &http.Transport{
			Protocols: p, TLSClientConfig: conf,
			DialContext:         (&net.Dialer{Timeout: c.Timeout, KeepAlive: 5 * time.Second}).DialContext,
			TLSHandshakeTimeout: c.Timeout, IdleConnTimeout: time.Minute,
			// etcd accepts at most one ping every five seconds.
			HTTP2: &http.HTTP2Config{SendPingTimeout: 6 * time.Second, PingTimeout: 2 * time.Second},
		}}
	}
	client := &Client{c: c, http: transport(&two, c.TLS.Clone())}
	client.plain = transport(&one, c.TLS.Clone())
	client.plain.Timeout = c.Timeout
	return client
}

// Close closes the idle connections.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	c.plain.CloseIdleConnections()
}

// endpoint returns the current member: the one that calls are sent to.
func (c *Client) endpoint() (at uint32, name string) {
	at = c.at.Load()
	return at, c.c.Endpoints[int(at)%len(c.c.Endpoints)]
}

// next makes the next member the current one, unless another goroutine has done so.
func (c *Client) next(at uint32) { c.at.CompareAndSwap(at, at+1) }

func (c *Client) url(endpoint, path string) string {
	scheme := "http"
	if c.c.TLS != nil {
		scheme = "https"
	}
	return (&url.URL{Scheme: scheme, Host: endpoint, Path: path}).String()
}

// call makes one attempt. If the authentication token is no longer valid, call gets
// a new one and makes a second attempt.
func (c *Client) call(ctx context.Context, method string, m message) (message, error) {
	token, err := c.authenticate(ctx, "")
	if err != nil {
		return nil, err
	}
	answer, err := c.attempt(ctx, method, m, token)
	if e, ok := errors.AsType[*Error](err); ok && c.c.User != "" && staleToken(e) {
		if token, err = c.authenticate(ctx, token); err != nil {
			return nil, err
		}
		answer, err = c.attempt(ctx, method, m, token)
	}
	return answer, err
}

// staleToken reports whether a new token may help. Tokens expire after a while,
// when a member is restarted, and when users or roles change.
func staleToken(e *Error) bool {
	return e.Code == codeUnauthenticated || e.Code == codeInvalid && strings.Contains(e.Message, "auth")
}

// authenticate returns an authentication token, or "" if there is no user. stale is a
// token that etcd has rejected, or "". If the current token equals stale, or if there
// is no token yet, authenticate requests a new one.
func (c *Client) authenticate(ctx context.Context, stale string) (string, error) {
	if c.c.User == "" {
		return "", nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token != "" && c.token != stale {
		return c.token, nil
	}
	answer, err := c.attempt(ctx, "Auth/Authenticate", message(nil).text(1, c.c.User).text(2, c.c.Password), "")
	if err != nil {
		return "", err
	}
	err = answer.each(func(field int, _ uint64, b message) {
		if field == 2 {
			c.token = string(b)
		}
	})
	return c.token, err
}

// attempt sends one message to the current member, and returns the one message of
// the response.
func (c *Client) attempt(ctx context.Context, method string, m message, token string) (answer message, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.c.Timeout)
	defer cancel()
	at, endpoint := c.endpoint()
	defer func() {
		if err != nil && !Refused(err) {
			c.next(at)
		}
	}()
	resp, err := c.open(ctx, endpoint, method, bytes.NewReader(framed(m)), token)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err = readMessage(resp.Body)
	if err == nil || errors.Is(err, io.EOF) {
		// The gRPC status follows the message. An error response has no message.
		if _, end := io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)); end != nil {
			return nil, fmt.Errorf("etcd %s: %s: %w", endpoint, method, end)
		}
		if failed := status(resp, endpoint, method); failed != nil {
			return nil, failed
		}
	}
	if err != nil {
		return nil, fmt.Errorf("etcd %s: %s: the response is truncated: %w", endpoint, method, err)
	}
	return answer, nil
}

// open sends a request, and returns when the header of the response has arrived.
func (c *Client) open(ctx context.Context, endpoint, method string, body io.Reader, token string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, "POST", c.url(endpoint, "/etcdserverpb."+method), body)
	if err != nil {
		return nil, err
	}
	req.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}}
	if token != "" {
		req.Header["Token"] = []string{token}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("etcd %s: %s: %w", endpoint, method, errors.Unwrap(err))
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("etcd %s: %s: HTTP status %s: is this the client address of an etcd member?", endpoint, method, resp.Status)
	}
	return resp, nil
}

// framed prepends gRPC's header of five bytes to a message.
func framed(m message) []byte {
	b := make([]byte, 5, 5+len(m))
	binary.BigEndian.PutUint32(b[1:], uint32(len(m)))
	return append(b, m...)
}

// readMessage reads one message. It returns io.EOF if there is none.
func readMessage(r io.Reader) (message, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if head[0] != 0 || n > maxAnswer {
		return nil, fmt.Errorf("etcd: the response is too large or compressed: %d bytes, flags %#x", n, head[0])
	}
	m := make(message, n)
	if _, err := io.ReadFull(r, m); err != nil {
		return nil, fmt.Errorf("%w", io.ErrUnexpectedEOF)
	}
	return m, nil
}

// status returns the error that gRPC's trailers report, or nil for success.
func status(resp *http.Response, endpoint, method string) error {
	trailers := resp.Trailer
	if resp.Header.Get("Grpc-Status") != "" { // an error response has no message, so its status may be in the header
		trailers = resp.Header
	}
	code, err := strconv.Atoi(trailers.Get("Grpc-Status"))
	if err != nil {
		return fmt.Errorf("etcd %s: %s: the response has no status", endpoint, method)
	}
	if code == 0 {
		return nil
	}
	text, err := url.PathUnescape(trailers.Get("Grpc-Message"))
	if err != nil {
		text = trailers.Get("Grpc-Message")
	}
	failed := &Error{Method: method, Endpoint: endpoint, Code: code, Message: text}
	switch {
	case strings.Contains(text, "database space exceeded"):
		return fmt.Errorf("%w: %w", ErrNoSpace, failed)
	case strings.Contains(text, "required revision has been compacted"):
		return fmt.Errorf("%w: %w", ErrCompacted, failed)
	case strings.Contains(text, "requested lease not found"):
		return fmt.Errorf("%w: %w", ErrNoLease, failed)
	}
	return failed
}
