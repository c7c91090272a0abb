package client

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A pipeListener accepts connections in memory.
type pipeListener chan net.Conn

func (l pipeListener) Accept() (net.Conn, error) {
	c, open := <-l
	if !open {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l pipeListener) Close() error   { return nil }
func (l pipeListener) Addr() net.Addr { return &net.UnixAddr{} }

// TestGiveUpIsKept checks that a transaction is sent to an overloaded daemon again and again until GiveUp has passed, and no
// longer.
func TestGiveUpIsKept(t *testing.T) {
	lines := func(t *testing.T, c *Client) (err error) {
		source := func(yield func([]Line, bool) bool) { yield([]Line{{Text: []byte("{}"), Keyed: true}}, false) }
		for _, err = range c.CommitLines(t.Context(), source, LinesOptions{}) {
		}
		return err
	}
	for name, x := range map[string]struct {
		streams bool // the daemon supports streams
		commit  func(t *testing.T, c *Client) error
	}{
		"in a stream":        {true, lines},
		"in a batch request": {false, lines},
		"by itself":          {false, func(t *testing.T, c *Client) error { _, err := c.Commit(t.Context(), Tx{}); return err }},
	} {
		for _, giveUp := range []time.Duration{10 * time.Second, 10 * time.Minute} {
			t.Run(fmt.Sprint(name, " ", giveUp), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					const busy = 9 * time.Minute
					c := toBusyDaemon(t, giveUp, x.streams, func() bool { return time.Since(start) < busy })
					err := x.commit(t, c)
					took := time.Since(start)
					switch {
					case giveUp > busy && (err != nil || took < busy):
						t.Errorf("after %v: %v, want success after %v", took, err, busy)
					case giveUp < busy && (err == nil || took > giveUp || took < giveUp-maxPause):
						t.Errorf("given up after %v, want at most %v: %v", took, giveUp, err)
					}
				})
			})
		}
	}
}

// toBusyDaemon returns a client of a daemon that rejects requests as Overloaded while busy returns true.
func toBusyDaemon(t *testing.T, giveUp time.Duration, streams bool, busy func() bool) *Client {
	result := func() (string, int) {
		if busy() {
			return `{"error":{"code":"Overloaded","message":"No room.","details":{}}}`, http.StatusServiceUnavailable
		}
		return `{"global_seq":1,"batch_seq":1,"minted_instances":[],"metadata":{}}`, http.StatusOK
	}
	var mux http.ServeMux
	mux.HandleFunc("/v1/commit", func(w http.ResponseWriter, r *http.Request) {
		text, status := result()
		w.WriteHeader(status)
		io.WriteString(w, text)
	})
	mux.HandleFunc("/v1/commit/batch", func(w http.ResponseWriter, r *http.Request) {
		text, _ := result()
		fmt.Fprintf(w, `{"results":[%s]}`, text)
	})
	mux.HandleFunc("/v1/commit/stream", func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		control.EnableFullDuplex()
		defer control.SetReadDeadline(time.Unix(1, 0)) // don't wait for the rest of the body
		if !streams {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error":{"code":"NotFound"}}`)
			return
		}
		control.Flush()
		for in := bufio.NewScanner(r.Body); in.Scan(); control.Flush() {
			if len(in.Bytes()) > 0 {
				text, _ := result()
				fmt.Fprintln(w, text)
			}
		}
	})
	listener, srv := make(pipeListener), &http.Server{Handler: &mux}
	go srv.Serve(listener)
	c := New(Options{Write: "http://ledger", GiveUp: giveUp, Transport: func(string) (*http.Transport, error) {
		return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			listener <- theirs
			return ours, nil
		}}, nil
	}})
	t.Cleanup(func() {
		c.Close()
		close(listener)
		srv.Close()
	})
	return c
}
