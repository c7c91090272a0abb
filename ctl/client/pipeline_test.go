package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A fakeLedger commits the lines of streams, each key once, and breaks connections at random.
type fakeLedger struct {
	*httptest.Server
	mu      sync.Mutex
	random  *rand.Rand
	seqs    map[string]int
	doubled int // number of lines without a key
	broken  int // number of broken connections
	ended   int // number of streams that the daemon ended with a last line
}

func newFakeLedger(t *testing.T, seed uint64) *fakeLedger {
	f := &fakeLedger{random: rand.New(rand.NewPCG(seed, 0)), seqs: map[string]int{}}
	f.Server = httptest.NewServer(f)
	t.Cleanup(func() { f.CloseClientConnections(); f.Close() })
	return f
}

func (f *fakeLedger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	control.EnableFullDuplex()
	defer control.SetReadDeadline(time.Unix(1, 0)) // don't wait for the rest of the body
	control.Flush()
	f.mu.Lock()
	left, answered := f.random.IntN(60), 0
	f.mu.Unlock()
	for in := bufio.NewScanner(r.Body); in.Scan(); left-- {
		if len(in.Bytes()) == 0 {
			continue
		}
		result := f.commit(in.Bytes())
		switch {
		case left > 0:
		case left == 0 && f.choose(3):
			f.count(&f.ended)
			fmt.Fprintf(w, `{"error":{"code":"ShuttingDown","message":"It stops.","details":{"lines_answered":%d}}}`+"\n", answered)
			return
		case left < 0 || f.choose(2):
			f.count(&f.broken)
			control.Flush()
			panic(http.ErrAbortHandler) // the line is committed, but its result is lost
		}
		io.WriteString(w, result+"\n")
		answered++
		control.Flush()
	}
}

func (f *fakeLedger) seq(key string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seqs[key]
}

func (f *fakeLedger) choose(n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.IntN(n) == 0
}

func (f *fakeLedger) count(n *int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*n++
}

func (f *fakeLedger) commit(line []byte) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var tx Tx
	if err := json.Unmarshal(line, &tx); err != nil || tx.Key == "" {
		f.doubled++
	}
	if len(tx.Operations) == 0 {
		return `{"error":{"code":"InvalidRequest","message":"No operations.","details":{"field":"operations"}}}`
	}
	seq, known := f.seqs[tx.Key]
	if !known {
		seq = len(f.seqs) + 1
		f.seqs[tx.Key] = seq
	}
	return fmt.Sprintf(`{"global_seq":%d,"batch_seq":1,"minted_instances":[],"metadata":{},"replayed":%v}`, seq, known)
}

// numbered yields n transactions. Every seventh has no operations, and every second has a key. taken counts those that were
// yielded.
func numbered(n int, taken *atomic.Int64) iter.Seq[Tx] {
	return func(yield func(Tx) bool) {
		for i := range n {
			tx := Tx{Metadata: i}
			if i%2 == 0 {
				tx.Key = fmt.Sprintf("k%d", i)
			}
			if i%7 > 0 {
				tx.Operations = []Operation{Op("Test", Args{"i": i})}
			}
			if taken.Add(1); !yield(tx) {
				return
			}
		}
	}
}

// TestCommitAll checks that every transaction is committed exactly once when streams break.
func TestCommitAll(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	f := newFakeLedger(t, seed)
	c := New(Options{Write: f.URL})
	defer c.Close()
	c.pause = func(context.Context, time.Duration) error { return nil }
	const n, window = 1400, 50 // enough for connections to end in both ways, whatever the seed
	next, committed := 0, 0
	var taken atomic.Int64
	for out, err := range c.CommitAll(t.Context(), numbered(n, &taken), window) {
		if err != nil {
			t.Fatal(err)
		}
		if out.Tx.Metadata != next {
			t.Fatalf("the outcome of %v comes where that of %d should", out.Tx.Metadata, next)
		}
		if refused := next%7 == 0; refused != (out.Err != nil) || refused && out.Err.Code != "InvalidRequest" {
			t.Fatalf("the outcome of %d is %+v, want InvalidRequest: %t", next, out, refused)
		} else if !refused {
			committed++
			if seq := f.seq(out.Tx.Key); int(out.GlobalSeq) != seq || out.GlobalSeq > c.LastSeq() {
				t.Errorf("transaction %d is commit %d, LastSeq is %d; want commit %d, and LastSeq not below it", next, out.GlobalSeq, c.LastSeq(), seq)
			}
		}
		next++
		if ahead := int(taken.Load()) - next; ahead > 2*window+1 { // those without an outcome, those ready to be sent, and one more
			t.Fatalf("%d transactions were taken from the source before they could be sent, want at most %d", ahead, 2*window+1)
		}
	}
	if next != n || committed != len(f.seqs) || f.doubled > 0 {
		t.Errorf("%d outcomes, want %d; %d committed, and %d in the ledger; %d lines without a key", next, n, committed, len(f.seqs), f.doubled)
	}
	if f.broken < 2 || f.ended < 2 {
		t.Errorf("only %d connections were broken, and %d streams ended, want at least 2 of each", f.broken, f.ended)
	}
}

// TestCommitAllHandsOver checks that lines that the old writer did not execute are sent to the new one, in order and with
// their keys.
func TestCommitAllHandsOver(t *testing.T) {
	var mu sync.Mutex
	keys := map[string][]string{} // received keys, by name of the daemon
	daemon := func(name string, commits int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			control := http.NewResponseController(w)
			control.EnableFullDuplex()
			defer control.SetReadDeadline(time.Unix(1, 0))
			control.Flush()
			for in := bufio.NewScanner(r.Body); in.Scan(); {
				var tx Tx
				if json.Unmarshal(in.Bytes(), &tx); tx.Key == "" {
					continue
				}
				mu.Lock()
				keys[name] = append(keys[name], tx.Key)
				n := len(keys[name])
				mu.Unlock()
				if n <= commits {
					fmt.Fprintln(w, `{"global_seq":1,"batch_seq":1,"minted_instances":[],"metadata":{}}`)
				} else {
					fmt.Fprintln(w, `{"error":{"code":"ShuttingDown","message":"Nothing was done.","details":{}}}`)
				}
				control.Flush()
			}
		}))
		t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
		return s.URL
	}
	c := New(Options{Write: daemon("old", 2) + "," + daemon("new", 10)})
	defer c.Close()
	c.pause = func(context.Context, time.Duration) error { return nil }
	var txs []Tx
	for i := range 5 {
		txs = append(txs, Tx{Key: fmt.Sprint(i), Operations: []Operation{Op("Test", nil)}})
	}
	next := 0
	for out, err := range c.CommitAll(t.Context(), slices.Values(txs), 0) {
		if err != nil || out.Err != nil || out.Tx.Key != txs[next].Key {
			t.Fatalf("the outcome is %+v, %v; want a commit of key %s", out, err, txs[next].Key)
		}
		next++
	}
	mu.Lock()
	defer mu.Unlock()
	if next != len(txs) || keys["old"][2] != "2" || !slices.Equal(keys["new"], []string{"2", "3", "4"}) {
		t.Errorf("%d outcomes, want 5; the keys are %q, want 2, 3 and 4 of the new writer", next, keys)
	}
}

// TestCommitAllWaits checks that outcomes are yielded while the source waits for them.
func TestCommitAllWaits(t *testing.T) {
	f := newFakeLedger(t, 1)
	c := New(Options{Write: f.URL})
	defer c.Close()
	c.pause = func(context.Context, time.Duration) error { return nil }
	told := make(chan int, 100)
	source := func(yield func(Tx) bool) {
		for i := range 40 {
			if i > 0 {
				<-told
			}
			if !yield(Tx{Operations: []Operation{Op("Test", nil)}}) {
				return
			}
		}
	}
	n := 0
	for out, err := range c.CommitAll(t.Context(), source, 10) {
		if err != nil || out.Err != nil {
			t.Fatal(err, out.Err)
		}
		n++
		told <- n
	}
	if n != 40 {
		t.Errorf("%d outcomes, want 40", n)
	}
}

// TestCommitAllEnds checks how CommitAll ends: after a rejected stream, after a timeout, at a transaction that can't be
// encoded as JSON, when ctx is canceled, and when the caller stops iterating.
func TestCommitAllEnds(t *testing.T) {
	refusal := `{"error":{"code":"Unauthorized","message":"Authentication required.","details":{}}}`
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).EnableFullDuplex()
		w.WriteHeader(401)
		io.WriteString(w, refusal)
	}))
	defer refuses.Close()
	for _, x := range []struct {
		url, want string
		check     func(err error) bool
	}{
		{refuses.URL, "Unauthorized, and not an *OutcomeUnknown", func(err error) bool { return Code(err) == "Unauthorized" && !errors.As(err, new(*OutcomeUnknown)) }},
		{deadAddress(t), "an *Unavailable", func(err error) bool { return errors.As(err, new(*Unavailable)) }},
	} {
		c := New(Options{Write: x.url, GiveUp: time.Millisecond})
		var taken atomic.Int64
		for _, err := range c.CommitAll(t.Context(), numbered(3, &taken), 0) {
			if !x.check(err) {
				t.Errorf("%T %v, want %s", err, err, x.want)
			}
		}
		c.Close()
	}
	cuts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		control.EnableFullDuplex()
		control.Flush()
		bufio.NewReader(r.Body).ReadSlice('\n')
		control.SetReadDeadline(time.Unix(1, 0))
		panic(http.ErrAbortHandler)
	}))
	defer cuts.Close()
	c := New(Options{Write: cuts.URL, GiveUp: time.Millisecond, Timeout: time.Minute})
	var taken atomic.Int64
	for _, err := range c.CommitAll(t.Context(), numbered(1, &taken), 0) {
		if unknown, ok := errors.AsType[*OutcomeUnknown](err); !ok || unknown.Key != "k0" {
			t.Errorf("%T %v, want an *OutcomeUnknown of key k0", err, err)
		}
	}
	c.Close()
	f := newFakeLedger(t, 1)
	c = New(Options{Write: f.URL})
	defer c.Close()
	for _, txs := range [][]Tx{{{Metadata: func() {}}}, {{Key: "first", Operations: []Operation{Op("Test", nil)}}, {Metadata: func() {}}}} {
		n := 0
		for _, err := range c.CommitAll(t.Context(), slices.Values(txs), 0) {
			if err != nil && !errors.Is(err, errNotJSON) {
				t.Errorf("%T %v, want that a transaction can't be encoded", err, err)
			}
			if err != nil {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d errors for a transaction that can't be encoded as JSON, want 1", n)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range c.CommitAll(ctx, numbered(1e9, &taken), 10) {
		if cancel(); err != nil && (!errors.Is(err, context.Canceled) || !errors.As(err, new(*OutcomeUnknown)) && !errors.As(err, new(*Unavailable))) {
			t.Errorf("%T %v, want an *OutcomeUnknown or *Unavailable because ctx was canceled", err, err)
		}
	}
	n := 0
	for range c.CommitAll(t.Context(), numbered(100, &taken), 10) {
		if n++; n == 3 {
			break
		}
	}
}
