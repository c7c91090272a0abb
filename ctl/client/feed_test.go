package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func event(w http.ResponseWriter, seq int) {
	fmt.Fprintf(w, "id: %d\ndata: {\"global_seq\":%d}\n\n", seq, seq)
}

// newFeed returns a client of a daemon that serves each connection with the next function, and further ones with the last.
// asked gets the query and Last-Event-ID of each connection.
func newFeed(t *testing.T, connections ...func(http.ResponseWriter)) (c *Client, asked *[]string) {
	asked = new([]string)
	var mu sync.Mutex // an abandoned connection may still be served
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		*asked = append(*asked, r.URL.RawQuery+" "+r.Header.Get("Last-Event-ID"))
		w.Header().Set("Content-Type", "text/event-stream")
		connections[min(len(*asked), len(connections))-1](w)
	}))
	t.Cleanup(daemon.Close)
	c = New(Options{Read: daemon.URL})
	t.Cleanup(c.Close)
	c.pause = func(context.Context, time.Duration) error { return nil }
	return c, asked
}

// TestFeedGoesOnWhereItWas checks that a lost connection is replaced and continues after the last event, so that every
// commit is seen once.
func TestFeedGoesOnWhereItWas(t *testing.T) {
	c, asked := newFeed(t,
		func(w http.ResponseWriter) {
			event(w, 6)
			event(w, 7)
			fmt.Fprint(w, "id: 8\ndata: {\"glob") // the connection breaks within an event
		},
		func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
		func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
		func(w http.ResponseWriter) { fmt.Fprint(w, ": keep-alive\n\n"); event(w, 8) },
		func(w http.ResponseWriter) { event(w, 9) })
	var seen []int64
	first := 0 // number of losses right after a success
	o := FeedOptions{After: 5, Lost: func(err error, since time.Duration, connected bool) error {
		if !connected || !errors.As(err, new(*NoAnswer)) {
			t.Errorf("lost with %v, connected: %t; want a *NoAnswer and true", err, connected)
		}
		if since == 0 {
			first++
		}
		return nil
	}}
	for commit, err := range c.Feed(t.Context(), o) {
		if err != nil {
			t.Fatal(err)
		}
		if seen = append(seen, commit.GlobalSeq); commit.GlobalSeq == 9 {
			break
		}
	}
	if want := []string{"after=5 ", "after=5 7", "after=5 7", "after=5 7", "after=5 8"}; !slices.Equal(seen, []int64{6, 7, 8, 9}) || !slices.Equal(*asked, want) {
		t.Errorf("saw %v, want 6 to 9; asked %q, want %q", seen, *asked, want)
	}
	if first != 2 {
		t.Errorf("%d losses right after a success, want 2", first)
	}
}

// TestFeedCursor checks that a feed with a cursor continues after the last processed commit. A commit at which the caller
// stopped is yielded again.
func TestFeedCursor(t *testing.T) {
	cursor := FileCursor(filepath.Join(t.TempDir(), "cursor"))
	c, asked := newFeed(t, func(w http.ResponseWriter) { event(w, 1); event(w, 2); event(w, 3) }, func(w http.ResponseWriter) { event(w, 3) })
	for range 2 {
		for commit, err := range c.Feed(t.Context(), FeedOptions{Cursor: cursor}) {
			if err != nil {
				t.Fatal(err)
			}
			if commit.GlobalSeq == 3 {
				break
			}
		}
	}
	if want := []string{"after=0 ", "after=2 "}; !slices.Equal(*asked, want) {
		t.Errorf("asked %q, want %q", *asked, want)
	}
	if seq, err := cursor.Load(); err != nil || seq != 2 {
		t.Errorf("the cursor is at %d, want 2: %v", seq, err)
	}
	if err := os.WriteFile(string(cursor), []byte("two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, err := range c.Feed(t.Context(), FeedOptions{Cursor: cursor}) {
		if err == nil {
			t.Error("a cursor file without a number is accepted")
		}
	}
}

// TestFeedPassesOver checks that a feed tries the next address at once if there is no connection, and also after a time
// without commits.
func TestFeedPassesOver(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer silent.Close()
	c, _ := newFeed(t, func(w http.ResponseWriter) { event(w, 1) })
	var lost []string
	o := FeedOptions{Base: deadAddress(t) + "," + silent.URL + "," + c.o.Read, Within: 200 * time.Millisecond}
	o.Lost = func(err error, _ time.Duration, _ bool) error { lost = append(lost, err.Error()); return nil }
	ctx, cancel := context.WithTimeout(t.Context(), feedSilence/2)
	defer cancel()
	for commit, err := range c.Feed(ctx, o) {
		if err != nil || commit.GlobalSeq != 1 {
			t.Errorf("the feed yields commit %d, %v; want 1", commit.GlobalSeq, err)
		}
		break
	}
	if len(lost) == 0 || !strings.Contains(lost[0], silent.URL) {
		t.Errorf("lost %q, want the silent daemon first", lost)
	}
}

// TestFeedEnds checks that a feed ends when ctx is done, and at an event that is not a commit.
func TestFeedEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c, _ := newFeed(t, func(w http.ResponseWriter) { event(w, 1) })
	for _, err := range c.Feed(ctx, FeedOptions{}) {
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the feed ends with %v, want that ctx was canceled", err)
		}
		cancel()
	}
	for _, text := range []string{"data: hello\n\n", "data: {\"global_seq\":5}\n\n"} {
		c, _ := newFeed(t, func(w http.ResponseWriter) { fmt.Fprint(w, text) })
		n := 0
		for _, err := range c.Feed(t.Context(), FeedOptions{After: 5}) {
			if n++; err == nil || errors.As(err, new(*NoAnswer)) {
				t.Errorf("%q: %v, want an error other than a *NoAnswer", text, err)
			}
		}
		if n != 1 {
			t.Errorf("%q: %d errors, want 1", text, n)
		}
	}
}
