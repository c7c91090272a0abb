package client

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
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

// TestGiveUpIsKept sends lines again for as long as GiveUp says, and no longer, to a daemon that has no room for them for
// some time, and says so at once.
func TestGiveUpIsKept(t *testing.T) {
	for name, x := range map[string]struct {
		giveUp, busy time.Duration
		batches      bool // and has no streams
	}{
		"too long":             {giveUp: 10 * time.Second, busy: time.Hour},
		"too long, in batches": {giveUp: 10 * time.Second, busy: time.Hour, batches: true},
		"long":                 {giveUp: 10 * time.Minute, busy: 9 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				result := func() string {
					if time.Since(start) < x.busy {
						return `{"error":{"code":"Overloaded","message":"No room.","details":{}}}`
					}
					return `{"global_seq":1,"batch_seq":1,"minted_instances":[],"metadata":{}}`
				}
				listener := make(pipeListener)
				srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/v1/commit/batch" {
						io.Copy(io.Discard, r.Body)
						fmt.Fprintf(w, `{"results":[%s]}`, result())
						return
					}
					control := http.NewResponseController(w)
					control.EnableFullDuplex()
					defer control.SetReadDeadline(time.Unix(1, 0)) // don't wait for the rest of the body
					if x.batches {
						w.WriteHeader(http.StatusNotFound)
						return
					}
					control.Flush()
					for in := bufio.NewScanner(r.Body); in.Scan(); control.Flush() {
						if len(in.Bytes()) > 0 {
							fmt.Fprintln(w, result())
						}
					}
				})}
				go srv.Serve(listener)
				c := New(Options{Write: "http://ledger", Transport: func(string) (*http.Transport, error) {
					return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
						ours, theirs := net.Pipe()
						listener <- theirs
						return ours, nil
					}}, nil
				}})
				var source iter.Seq2[[]Line, bool] = func(yield func([]Line, bool) bool) {
					yield([]Line{{Text: []byte("{}"), Keyed: true}}, false)
				}
				for a, err := range c.CommitLines(t.Context(), source, LinesOptions{GiveUp: x.giveUp}) {
					took := time.Since(start)
					switch {
					case x.busy > x.giveUp:
						if err == nil || took > x.giveUp || took < x.giveUp-maxPause {
							t.Errorf("given up after %v: %v", took, err)
						}
					case err != nil || a.Err != nil || took < x.busy:
						t.Errorf("after %v: %v %v", took, err, a.Err)
					}
				}
				c.Close()
				close(listener)
				srv.Close()
			})
		})
	}
}
