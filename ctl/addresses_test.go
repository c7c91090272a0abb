package ctl

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A site is a daemon at an address of a list.
type site struct {
	url   string
	asked []string // idempotency keys of the requests that came
	reply func(w http.ResponseWriter, r *http.Request)
}

func newSite(t *testing.T, reply func(w http.ResponseWriter, r *http.Request)) *site {
	s := &site{reply: reply}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		s.asked = append(s.asked, r.Header.Get("X-Idempotency-Key"))
		s.reply(w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func standsBy(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(503)
	io.WriteString(w, `{"error":{"code":"NotTheWriter","message":"It stands by.","details":{"writer":"http://elsewhere"}}}`)
}

func writes(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"global_seq":1}`) }

func cutsOff(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }

// deadAddress is one at which nobody listens.
func deadAddress(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return "http://" + ln.Addr().String()
}

// TestAddresses goes from an address to the next where there is no connection, or
// no writer, with the same key; and stays with the one that answers.
func TestAddresses(t *testing.T) {
	standby, writer := newSite(t, standsBy), newSite(t, writes)
	c := newClient(&connecting{})
	list := strings.Join([]string{deadAddress(t), standby.url, writer.url}, ",")
	for i := range 2 {
		a, err := c.do(t.Context(), request{method: "POST", base: list, path: "/v1/commit", key: fmt.Sprint("k", i)})
		if err != nil || a.status != 200 || a.url != writer.url+"/v1/commit" {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	if got := fmt.Sprint(standby.asked, writer.asked); got != "[k0] [k0 k1]" {
		t.Errorf("the standby and the writer were asked %s", got)
	}
	// When the roles change, it goes round.
	standby.reply, writer.reply = writes, standsBy
	if a, err := c.do(t.Context(), request{method: "POST", base: list, path: "/v1/commit", key: "k2"}); err != nil || a.url != standby.url+"/v1/commit" {
		t.Errorf("%+v, %v", a, err)
	}
	// Nobody writes: that is the answer.
	standby.reply = standsBy
	if a, err := c.do(t.Context(), request{method: "POST", base: list, path: "/v1/commit"}); err == nil && a.status != 503 {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestAddressesWithoutAKey: what may have been carried out is asked elsewhere only
// with a key.
func TestAddressesWithoutAKey(t *testing.T) {
	for _, keyed := range []bool{false, true} {
		broken, writer := newSite(t, cutsOff), newSite(t, writes)
		var words strings.Builder
		run := &call{ctx: t.Context(), words: &words, api: newClient(&connecting{})}
		run.api.pause = func(context.Context, time.Duration) error { return nil }
		run.timeout.Duration = time.Minute
		r := request{method: "POST", base: broken.url + "," + writer.url, path: "/v1/commit"}
		if keyed {
			r.key = "k"
		}
		a, err := run.submit(r, keyed)
		if keyed && (err != nil || a.status != 200 || len(writer.asked) != 1 || writer.asked[0] != "k") {
			t.Errorf("with a key: %+v, %v, %v", a, err, writer.asked)
		}
		if !keyed && (err == nil || len(writer.asked) != 0) {
			t.Errorf("without a key: %+v, %v, the next one was asked %d times", a, err, len(writer.asked))
		}
	}
}

// TestAddressFlag takes lists, and says what is wrong with one of them.
func TestAddressFlag(t *testing.T) {
	var got string
	if err := (baseURL{&got}).Set("a:1, https://b:2/,unix:/run/x"); err != nil || got != "http://a:1,https://b:2,unix:/run/x" {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"a:1,", ",", "http://a:1,ftp://b", strings.Repeat("a:1,", 16) + "a:1"} {
		if err := (baseURL{&got}).Set(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
