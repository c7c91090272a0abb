package reader

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"

	"assetledger/server/commitlog"
	"assetledger/server/servertest"
	"assetledger/wal"
)

// benchLedger returns a ledger of 1,000 containers with 3 stacks each.
func benchLedger(b *testing.B) (*testReader, *ledgerWriter) {
	log := newMemLog()
	w := newLedgerWriter(b, log)
	w.commit("RegisterClass class_id=1 name=Gold")
	for id := 1; id <= 1000; id++ {
		ops := []string{fmt.Sprintf("CreateContainer container_id=%d kind=Standard", id)}
		for key := range 3 {
			ops = append(ops, fmt.Sprintf("AddFungible container_id=%d class_id=1 key=%d quantity=1000000000", id, key))
		}
		w.commit(ops...)
	}
	return startReader(b, log), w
}

func BenchmarkBalancesHandler(b *testing.B) {
	r, _ := benchLedger(b)
	req := httptest.NewRequest("GET", "/v1/read/container/500/balances", nil)
	w := servertest.NewSink()
	b.ReportAllocs()
	for b.Loop() {
		r.api.ServeHTTP(w, req)
	}
}

func BenchmarkBalancesHandlerParallel(b *testing.B) {
	r, _ := benchLedger(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		req := httptest.NewRequest("GET", "/v1/read/container/500/balances", nil)
		w := servertest.NewSink()
		for pb.Next() {
			r.api.ServeHTTP(w, req)
		}
	})
}

// BenchmarkConnection compares the handler of a read, over a connection, with the
// simplest handler of net/http that responds with the same number of bytes.
func BenchmarkConnection(b *testing.B) {
	r, _ := benchLedger(b)
	body := r.do("GET", "/v1/read/container/500/balances").Body.Bytes()
	bare := http.NewServeMux()
	bare.HandleFunc("GET /v1/read/container/{id}/balances", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
	})
	for _, c := range []struct {
		name    string
		handler http.Handler
	}{{"bare", bare}, {"balances", r.api}} {
		b.Run(c.name, func(b *testing.B) {
			s := httptest.NewServer(c.handler)
			defer s.Close()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				conn, err := net.Dial("tcp", s.Listener.Addr().String())
				if err != nil {
					b.Error(err)
					return
				}
				defer conn.Close()
				in := bufio.NewReader(conn)
				request := []byte("GET /v1/read/container/500/balances HTTP/1.1\r\nHost: x\r\n\r\n")
				for pb.Next() {
					conn.Write(request)
					if err := skipAnswer(in); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// skipAnswer reads one response with as little work as possible.
func skipAnswer(in *bufio.Reader) error {
	length := 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			break
		}
		if n := len("Content-Length: "); len(line) > n && string(line[:n]) == "Content-Length: " {
			length, _ = strconv.Atoi(string(line[n : len(line)-2]))
		}
	}
	_, err := in.Discard(length)
	return err
}

// BenchmarkApply replays transfers, 100 per batch, with and without concurrent
// reads.
func BenchmarkApply(b *testing.B) {
	for _, readers := range []int{0, 1} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			const size = 100
			r, w := benchLedger(b)
			tx := make([]string, size)
			for i := range tx {
				tx[i] = transactionOf(b, fmt.Sprintf("TransferFungible from_container=%d to_container=%d class_id=1 key=%d quantity=1", i*9+1, i*7+300, i%3))
			}
			frames := make([]*wal.Frame, b.N/size+1)
			for i := range frames {
				frames[i] = w.frame(tx...)
			}
			stop, done := make(chan struct{}), make(chan int, readers)
			for range readers {
				go func() {
					req := httptest.NewRequest("GET", "/v1/read/container/500/balances", nil)
					sink := servertest.NewSink()
					for n := 0; ; n++ {
						select {
						case <-stop:
							done <- n
							return
						default:
							r.api.ServeHTTP(sink, req)
						}
					}
				}()
			}
			b.ReportAllocs()
			b.ResetTimer()
			for _, f := range frames {
				if err := r.proj.apply(f, endless); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			close(stop)
			for range readers {
				b.ReportMetric(float64(<-done)/b.Elapsed().Seconds(), "reads/s")
			}
		})
	}
}

// BenchmarkCommit reads commits back from a log on disk with 100,000 commits, 100 per
// batch.
func BenchmarkCommit(b *testing.B) {
	const commits = 100_000
	dir := b.TempDir()
	log := openWriter(b, dir)
	w := newLedgerWriter(b, log)
	w.commit("RegisterClass class_id=1 name=Gold", "CreateContainer container_id=1 kind=Standard", "CreateContainer container_id=2 kind=Standard",
		"AddFungible container_id=1 class_id=1 key=0 quantity=1000000000")
	tx := transactionOf(b, "TransferFungible from_container=1 to_container=2 class_id=1 key=0 quantity=1")
	for range commits / 100 {
		w.batch(slices.Repeat([]string{tx}, 100)...)
	}
	r := startReader(b, commitlog.File{Dir: dir})
	sink := servertest.NewSink()
	for _, c := range []struct {
		name   string
		target func(i int) string
	}{
		{"one", func(i int) string { return fmt.Sprintf("/v1/read/commit/%d", i*7919%commits+1) }},
		{"page", func(i int) string { return fmt.Sprintf("/v1/read/commits?after=%d", i*7919%commits) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				r.api.ServeHTTP(sink, httptest.NewRequest("GET", c.target(i), nil))
			}
		})
	}
}

// BenchmarkReplay applies frames of 8,190 one-transfer records, as both daemons
// do when they start: decode, prefetch, apply, compare digests.
func BenchmarkReplay(b *testing.B) {
	const size = 8190
	r, w := benchLedger(b)
	tx := make([]string, size)
	for i := range tx {
		tx[i] = transactionOf(b, fmt.Sprintf("TransferFungible from_container=%d to_container=%d class_id=1 key=%d quantity=1", i*7919%1000+1, (i*7919+1+i%998)%1000+1, i%3))
	}
	frames := make([]*wal.Frame, b.N)
	for i := range frames {
		frames[i] = w.frame(tx...)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for _, f := range frames {
		if err := r.proj.apply(f, endless); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*size/b.Elapsed().Seconds(), "commits/s")
}
