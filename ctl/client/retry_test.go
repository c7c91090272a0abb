package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A brokenWire is a transport whose requests all fail. It counts them.
type brokenWire struct{ asked int }

func (b *brokenWire) RoundTrip(*http.Request) (*http.Response, error) {
	b.asked++
	return nil, errors.New("the wire is broken")
}

// A fixedDeadline is a context that has a deadline, but is never done.
type fixedDeadline struct {
	context.Context
	at time.Time
}

func (f fixedDeadline) Deadline() (time.Time, bool) { return f.at, true }

func TestTriesAreBounded(t *testing.T) {
	for _, x := range []struct {
		name     string
		tries    int
		deadline time.Duration
		stopAt   int // number of the pause that is interrupted; 0: none
		want     int
	}{
		{"without a key", 1, time.Hour, 0, 1},
		{"as many as allowed", 50, time.Hour, 0, 50},
		{"no pause fits before the deadline", MaxTries, firstPause / 3, 0, 1},
		{"the deadline comes in a pause", MaxTries, time.Hour, 3, 3},
	} {
		t.Run(x.name, func(t *testing.T) {
			wire, pauses, said := &brokenWire{}, 0, 0
			c := New(Options{})
			c.pools["http://ledger"] = &http.Client{Transport: wire}
			c.pause = func(context.Context, time.Duration) error {
				if pauses++; pauses == x.stopAt {
					return context.DeadlineExceeded
				}
				return nil
			}
			ctx := fixedDeadline{t.Context(), time.Now().Add(x.deadline)}
			r := Request{Method: "GET", Base: "http://ledger", Path: "/"}
			_, err := c.Try(ctx, x.tries, func(error) { said++ }, func() (*Answer, error) { return c.Do(ctx, r) })
			if !errors.As(err, new(*NoAnswer)) || wire.asked != x.want || said > 1 {
				t.Errorf("asked %d times, want %d; said %d times; error %v", wire.asked, x.want, said, err)
			}
		})
	}
}

func TestBackoff(t *testing.T) {
	sum, last := time.Duration(0), firstPause
	for i := 1; i <= 50; i++ {
		d := Backoff(i, nil)
		if d < firstPause/2 || d > maxPause || d > 4*last || i > 20 && d < maxPause/2 {
			t.Errorf("pause %d is %v after %v, want %v to %v, and long after 20 pauses", i, d, last, firstPause/2, maxPause)
		}
		if sum, last = sum+d, d; i == 4 && sum > 100*time.Millisecond { // so a standby that takes over within 50 ms is tried soon
			t.Errorf("the first %d pauses are %v in all, want at most 100 ms", i, sum)
		}
	}
	seen := map[time.Duration]bool{}
	for range 10 {
		seen[Backoff(3, nil)] = true
	}
	if len(seen) == 1 {
		t.Error("the pauses have no jitter")
	}
	late := &Answer{Header: http.Header{"Retry-After": {"1"}}}
	if d := Backoff(1, late); d < time.Second || d > time.Second+firstPause {
		t.Errorf("with Retry-After: 1 the first pause is %v, want 1 s to %v", d, time.Second+firstPause)
	}
	late.Header.Set("Retry-After", "100000000000")
	if d := Backoff(1, late); d > mostRetryAfter+firstPause {
		t.Errorf("with a huge Retry-After the pause is %v, want at most %v", d, mostRetryAfter+firstPause)
	}
	for _, code := range []string{"ShuttingDown", "NotTheWriter"} {
		late.Status, late.Body = http.StatusServiceUnavailable, fmt.Appendf(nil, `{"error":{"code":%q}}`, code)
		if d := Backoff(1, late); d > firstPause {
			t.Errorf("while another daemon takes over (%s) the pause is %v, want at most %v", code, d, firstPause)
		}
	}
}

// A site is a daemon that sends a given reply, and records the idempotency keys of the requests.
type site struct {
	*httptest.Server
	mu    sync.Mutex
	reply func(http.ResponseWriter)
	keys  []string
}

// asked returns the keys so far.
func (s *site) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.keys)
}

func newSite(t *testing.T, reply func(http.ResponseWriter)) *site {
	s := &site{reply: reply}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.keys = append(s.keys, r.Header.Get("X-Idempotency-Key"))
		s.reply(w)
	}))
	t.Cleanup(s.Close)
	return s
}

func writes(w http.ResponseWriter) {
	fmt.Fprint(w, `{"global_seq":1,"batch_seq":1,"minted_instances":[],"metadata":{}}`)
}

func standsBy(w http.ResponseWriter) {
	w.WriteHeader(http.StatusServiceUnavailable)
	fmt.Fprint(w, `{"error":{"code":"NotTheWriter","message":"This daemon stands by.","details":{}}}`)
}

func cutsOff(http.ResponseWriter) { panic(http.ErrAbortHandler) }

// deadAddress returns an address at which nothing listens, and nothing can begin to
// listen: it is the local address of a connected client.
func deadAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); ln.Close() })
	return "http://" + conn.LocalAddr().String()
}

// TestAddresses checks that a request is sent to the next address, with the same key,
// if there is no connection, or if the daemon is a standby. The client must then keep
// using the address of the writer.
func TestAddresses(t *testing.T) {
	standby, writer := newSite(t, standsBy), newSite(t, writes)
	c := New(Options{})
	defer c.Close()
	list := strings.Join([]string{deadAddress(t), standby.URL, writer.URL}, ",")
	post := func(key string) (*Answer, error) {
		return c.Do(t.Context(), Request{Method: "POST", Base: list, Path: "/v1/commit", Key: key})
	}
	for _, key := range []string{"k0", "k1"} {
		if a, err := post(key); err != nil || a.Status != 200 || a.URL != writer.URL+"/v1/commit" {
			t.Fatalf("key %s: %+v, %v; want 200 from the writer", key, a, err)
		}
	}
	if !slices.Equal(standby.asked(), []string{"k0"}) || !slices.Equal(writer.asked(), []string{"k0", "k1"}) {
		t.Errorf("the standby and the writer were asked %s and %s, want k0, and k0 and k1", standby.asked(), writer.asked())
	}
	// After a change of roles, the client tries the addresses in turn.
	standby.reply, writer.reply = writes, standsBy
	if a, err := post("k2"); err != nil || a.URL != standby.URL+"/v1/commit" {
		t.Errorf("after a change of roles: %+v, %v; want a response of the new writer", a, err)
	}
	// Without a writer, the response is NotTheWriter.
	standby.reply = standsBy
	if a, err := post(""); err == nil && a.Status != 503 {
		t.Errorf("without a writer: %+v, %v; want 503", a, err)
	}
}

// TestSubmit checks that a request that may have taken effect is sent to another address only if n allows a second
// attempt, and that its outcome is reported as unknown.
func TestSubmit(t *testing.T) {
	for _, tries := range []int{1, MaxTries} {
		broken, writer := newSite(t, cutsOff), newSite(t, writes)
		c := New(Options{})
		c.pause = func(context.Context, time.Duration) error { return nil }
		r := Request{Method: "POST", Base: broken.URL + "," + writer.URL, Path: "/v1/commit", Key: "k"}
		a, unknown, err := c.Submit(t.Context(), r, tries, nil)
		if !unknown {
			t.Error("after a broken connection, the outcome is not reported as unknown")
		}
		if tries == 1 && (err == nil || len(writer.asked()) != 0) || tries > 1 && (err != nil || a.Status != 200 || len(writer.asked()) != 1) {
			t.Errorf("at most %d tries: %+v, %v, the second address was asked %q; want success, once it may be asked", tries, a, err, writer.asked())
		}
		c.Close()
	}
}

// TestFailures checks the kind of error after each kind of failed call.
func TestFailures(t *testing.T) {
	status := func(status int, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.WriteHeader(status); fmt.Fprint(w, body) }
	}
	refusal := func(code string) string {
		return fmt.Sprintf(`{"error":{"code":%q,"message":"No.","details":{"n":9007199254740993},"operation_index":2}}`, code)
	}
	for _, x := range []struct {
		name    string
		replies []func(http.ResponseWriter) // the last one repeats
		want    string
	}{
		{"refused", []func(http.ResponseWriter){status(422, refusal("InsufficientBalance"))}, "*client.Refused"},
		{"stands by", []func(http.ResponseWriter){standsBy}, "*client.Unavailable"},
		{"overloaded", []func(http.ResponseWriter){status(503, refusal("Overloaded"))}, "*client.Unavailable"},
		{"the log failed", []func(http.ResponseWriter){status(503, refusal("LogUnavailable"))}, "*client.OutcomeUnknown"},
		{"cut off", []func(http.ResponseWriter){cutsOff}, "*client.OutcomeUnknown"},
		{"cut off once, then overloaded", []func(http.ResponseWriter){cutsOff, status(503, refusal("Overloaded"))}, "*client.OutcomeUnknown"},
		{"a defect", []func(http.ResponseWriter){status(500, refusal("Internal"))}, "*client.OutcomeUnknown"},
		{"another server", []func(http.ResponseWriter){status(404, "<html>")}, "*client.OutcomeUnknown"},
		{"no result", []func(http.ResponseWriter){status(200, "{}")}, "*client.OutcomeUnknown"},
	} {
		t.Run(x.name, func(t *testing.T) {
			n := 0 // number of replies
			s := newSite(t, func(w http.ResponseWriter) { n++; x.replies[min(n, len(x.replies))-1](w) })
			c := New(Options{Write: s.URL})
			defer c.Close()
			c.pause = func(context.Context, time.Duration) error {
				if len(s.asked()) > 3 {
					return context.DeadlineExceeded
				}
				return nil
			}
			_, err := c.Commit(t.Context(), Tx{Key: "k"})
			if got := fmt.Sprintf("%T", err); got != x.want {
				t.Errorf("%s: %v, want %s", got, err, x.want)
			}
			if refused, ok := errors.AsType[*Refused](err); ok && x.want == "*client.Refused" {
				if refused.Code != "InsufficientBalance" || refused.Status != 422 || *refused.OperationIndex != 2 || string(refused.Details) != `{"n":9007199254740993}` {
					t.Errorf("the rejection is %+v, want InsufficientBalance with all that the response has", refused)
				}
			}
			if unknown, ok := errors.AsType[*OutcomeUnknown](err); ok && unknown.Key != "k" {
				t.Errorf("the key is %q, want k", unknown.Key)
			}
		})
	}
}
