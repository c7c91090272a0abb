package writer

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"assetledger/ledger"
	"assetledger/server/metrics"
	"assetledger/server/servertest"
	"assetledger/wal"
)

// A nullLog reports frames as durable at once and stores nothing.
type nullLog struct{ *ramLog }

func newNullLog() *nullLog {
	l := newRAMLog()
	l.maxBody = 16 << 20
	return &nullLog{l}
}

func (*nullLog) Append(*wal.Frame) error { return nil }

const benchBatch = 8190

// benchTransfers returns a batch request of n transfers of quantity 1, back and forth
// between two containers.
func benchTransfers(n int) string {
	txs := make([]string, n)
	for i := range txs {
		from := 1 + i%2
		txs[i] = fmt.Sprintf(`{"operations":[{"op":"TransferFungible","args":{"from_container":%d,"to_container":%d,"class_id":1,"key":0,"quantity":1}}]}`, from, 3-from)
	}
	return batchOf("", txs...)
}

// One iteration is one batch request of 8,190 transfers through the sequencer,
// without HTTP, parsing or disk.
func BenchmarkSequencer(b *testing.B) {
	l := newNullLog()
	state := ledger.NewState(ledger.Config{IdempotencyKeys: 100})
	s := newSequencer(state, l, 8, newMeters(new(metrics.Registry)), silent, func() { panic("exit") })
	s.start()
	defer s.stop()
	run := func(r *request) {
		r.judged()
		g, err := s.intake.submit(r)
		if err != nil {
			b.Fatal(err)
		}
		<-g.done
		for i := range r.verdicts {
			if r.verdicts[i].err != nil {
				b.Fatal(r.verdicts[i].err)
			}
		}
	}
	first := &request{BatchRequest: ledger.BatchRequest{Txs: make([]ledger.Transaction, 1)}}
	if err := ledger.ParseTransaction([]byte(world), &first.Txs[0], ledger.ParseLimits{}); err != nil {
		b.Fatal(err)
	}
	run(first)
	r := &request{bulk: true}
	if err := ledger.ParseBatch([]byte(benchTransfers(benchBatch)), &r.BatchRequest, ledger.ParseLimits{}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		run(r)
	}
	b.ReportMetric(float64(b.N)*benchBatch/b.Elapsed().Seconds(), "tx/s")
}

// One iteration is one batch request of 8,190 transfers over HTTP, through one
// connection, to a daemon that stores nothing or to one with a log on disk.
func BenchmarkBatch(b *testing.B) {
	for _, disk := range []bool{false, true} {
		b.Run(map[bool]string{false: "no log", true: "disk"}[disk], func(b *testing.B) {
			var url string
			if disk {
				w := runWriter(b, b.TempDir(), func(c *Config) { c.SegmentSize = wal.DefaultSegmentSize })
				defer w.end()
				url = w.url
				w.post(200, "/v1/commit", world)
			} else {
				w := startWriter(b, newNullLog())
				url = w.url
				w.post(200, "/v1/commit", world)
			}
			body := benchTransfers(benchBatch)
			var answer bytes.Buffer
			b.ReportAllocs()
			for b.Loop() {
				resp, err := http.Post(url+"/v1/commit/batch", "application/json", strings.NewReader(body))
				if err != nil {
					b.Fatal(err)
				}
				answer.Reset()
				if _, err := io.Copy(&answer, resp.Body); err != nil || resp.StatusCode != 200 {
					b.Fatal(resp.Status, err)
				}
				resp.Body.Close()
			}
			if bytes.Contains(answer.Bytes(), []byte("error")) {
				b.Fatalf("rejected: %.300s", answer.Bytes())
			}
			b.ReportMetric(float64(b.N)*benchBatch/b.Elapsed().Seconds(), "tx/s")
		})
	}
}

// One iteration is one commit of one transfer over HTTP to a log on disk, with
// many concurrent clients.
func BenchmarkCommitClients(b *testing.B) {
	w := runWriter(b, b.TempDir(), func(c *Config) { c.SegmentSize = wal.DefaultSegmentSize })
	defer w.end()
	w.post(200, "/v1/commit", strings.Replace(world, `"quantity":1000`, `"quantity":1000000000`, 1))
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 64
	b.ReportAllocs()
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if a, err := w.try("POST", "/v1/commit", transferTx(1, "")); err != nil || a.status != 200 {
				b.Error(a, err)
			}
		}
	})
}

// One iteration is one commit of one transfer through the handler, the sequencer and
// the syncer, without a network or a disk.
func BenchmarkCommitHandler(b *testing.B) {
	w := startWriter(b, newNullLog())
	w.post(200, "/v1/commit", strings.Replace(world, `"quantity":1000`, `"quantity":1000000000`, 1))
	body := strings.NewReader("")
	req := httptest.NewRequest("POST", "/v1/commit", io.NopCloser(body))
	req.Header.Set("Content-Type", "application/json")
	text := transferTx(1, "")
	req.ContentLength = int64(len(text))
	sink := servertest.NewSink()
	b.ReportAllocs()
	for b.Loop() {
		body.Reset(text)
		req.Body = io.NopCloser(body)
		w.api.ServeHTTP(sink, req)
	}
}
