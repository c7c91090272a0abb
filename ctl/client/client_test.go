package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRead checks that the client reads all pages as of its own commit or later, and skips a daemon that has not applied it.
func TestRead(t *testing.T) {
	commits := newSite(t, func(w http.ResponseWriter) {
		w.Header().Set("X-Asset-Idempotency", "hit")
		io.WriteString(w, `{"global_seq":12,"batch_seq":1,"minted_instances":[7],"metadata":{"n":9223372036854775807}}`)
	})
	stale := newSite(t, func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusTooEarly)
		io.WriteString(w, `{"error":{"code":"NotFresh","message":"Not yet.","details":{}}}`)
	})
	var asked []string
	reads := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		next := `,"next_cursor":"c2"`
		if r.URL.Query().Has("cursor") {
			next = ""
		}
		fmt.Fprintf(w, `{"data":{"entries":[{"n":9223372036854775807}]%s},"freshness":{"checkpoint_seq":12}}`, next)
	}))
	defer reads.Close()
	c := New(Options{Write: commits.URL, Read: stale.URL + "," + reads.URL})
	defer c.Close()
	c.pause = func(context.Context, time.Duration) error { return nil }
	done, err := c.Commit(t.Context(), Tx{})
	if err != nil || !done.Replayed || !slices.Equal(done.Minted, []int64{7}) || c.LastSeq() != 12 {
		t.Errorf("the commit returned %+v, %v, and LastSeq is %d; want commit 12, replayed, with the instance 7", done, err, c.LastSeq())
	}
	var all []any
	for entry, err := range Items[any](t.Context(), c, "/v1/read/x", url.Values{"limit": {"1"}}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry)
	}
	if len(all) != 2 || fmt.Sprint(all[0]) != "map[n:9223372036854775807]" {
		t.Errorf("the items are %v, want two of 9223372036854775807", all)
	}
	var page map[string]any
	if err := c.Read(t.Context(), "/v1/read/y", url.Values{"at_seq": {"3"}}, &page); err != nil {
		t.Errorf("a read of the past: %v", err)
	}
	if entry := page["data"].(map[string]any)["entries"].([]any)[0].(map[string]any)["n"]; entry != json.Number("9223372036854775807") {
		t.Errorf("the number is %T %v, want json.Number 9223372036854775807", entry, entry)
	}
	if want := []string{"/v1/read/x?limit=1&min_seq=12", "/v1/read/x?cursor=c2&limit=1&min_seq=12", "/v1/read/y?at_seq=3"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	if len(stale.asked()) != 1 {
		t.Errorf("the stale daemon was asked %d times, want once", len(stale.asked()))
	}
}

// TestConnections checks connections over TLS with given root certificates, and over a unix socket, with a token.
func TestConnections(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" || r.Proto != "HTTP/1.1" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		writes(w)
	})
	secure := httptest.NewUnstartedServer(handler)
	secure.EnableHTTP2 = true                           // the client must not use it: streams need HTTP/1.1
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // one handshake fails on purpose
	secure.StartTLS()
	defer secure.Close()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	socket := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	local := httptest.NewUnstartedServer(handler)
	local.Listener.Close()
	local.Listener = ln
	local.Start()
	defer local.Close()
	for _, o := range []Options{{Write: secure.URL, TLS: &tls.Config{RootCAs: roots}}, {Write: "unix:" + socket}} {
		o.Token = "secret"
		c := New(o)
		if done, err := c.Commit(t.Context(), Tx{}); err != nil || done.GlobalSeq != 1 {
			t.Errorf("%s: %+v, %v; want commit 1", o.Write, done, err)
		}
		c.Close()
	}
	c := New(Options{Write: secure.URL})
	if _, err := c.Commit(t.Context(), Tx{}); !errors.As(err, new(*Unavailable)) || !strings.Contains(err.Error(), "not signed by a trusted authority") {
		t.Errorf("with the system's root certificates: %v, want that the certificate is not trusted", err)
	}
}

// TestLimits checks that responses and events that are too large are rejected.
func TestLimits(t *testing.T) {
	s := newSite(t, writes)
	c := New(Options{Write: s.URL})
	defer c.Close()
	c.most = 10
	if _, err := c.Do(t.Context(), Request{Method: "POST", Base: s.URL, Path: "/"}); err == nil || !strings.Contains(err.Error(), "larger than 10 bytes") {
		t.Errorf("%v, want the limit of 10 bytes", err)
	}
	f, _ := newFeed(t, func(w http.ResponseWriter) {
		for seq := range 5 {
			event(w, seq+1)
		}
		fmt.Fprintf(w, "data: {\"global_seq\":6%s}\n\n", strings.Repeat(" ", 200))
	})
	f.most = 100
	n := 0
	for _, err := range f.Feed(t.Context(), FeedOptions{}) {
		if n++; n <= 5 && err != nil || n > 5 && (err == nil || !strings.Contains(err.Error(), "larger than 100 bytes")) {
			t.Errorf("event %d: %v, want an error with the limit of 100 bytes only for the sixth", n, err)
		}
	}
	if n != 6 {
		t.Errorf("%d commits and errors, want 6", n)
	}
}
