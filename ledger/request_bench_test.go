package ledger

import (
	"fmt"
	"testing"
)

const oneTransfer = `{"operations":[{"op":"TransferFungible","args":{"from_container":17,"to_container":42,"class_id":1,"key":0,"quantity":5}}]}`

const keyedTransfer = `{"operations": [{"op": "TransferFungible", "args": {"from_container": 17, "to_container": 42, "class_id": 1, "key": 0, "quantity": 5}}], "idempotency_key": "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "metadata": {"reason": "sale", "order": 12}}`

func batchBody(n int, tx func(i int) string) []byte {
	body := []byte(`{"transactions":[`)
	for i := range n {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, tx(i)...)
	}
	return append(body, `]}`...)
}

func transferBody(i int) string {
	return fmt.Sprintf(`{"operations":[{"op":"TransferFungible","args":{"from_container":%d,"to_container":%d,"class_id":1,"key":0,"quantity":%d}}]}`,
		1+i*7919%100_000, 1+i*104729%100_000, 1+i%50)
}

func benchmarkTransaction(b *testing.B, body string) {
	var tx Transaction
	text := []byte(body)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := ParseTransaction(text, &tx, ParseLimits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseTransaction(b *testing.B)      { benchmarkTransaction(b, oneTransfer) }
func BenchmarkParseKeyedTransaction(b *testing.B) { benchmarkTransaction(b, keyedTransfer) }

func benchmarkBatch(b *testing.B, transaction func(i int) string) {
	const n = 8190
	body := batchBody(n, transaction)
	var req BatchRequest
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if err := ParseBatch(body, &req, ParseLimits{}); err != nil || len(req.Txs) != n {
			b.Fatal(err, len(req.Txs))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/tx")
}

func BenchmarkParseBatch(b *testing.B) { benchmarkBatch(b, transferBody) }

func BenchmarkParseBatchKeyed(b *testing.B) {
	benchmarkBatch(b, func(i int) string {
		tx := transferBody(i)
		return fmt.Sprintf(`%s,"idempotency_key":"order-%d"}`, tx[:len(tx)-1], i)
	})
}

// BenchmarkParseLine parses lines of a stream: of one form, without a form, and with two
// forms that take turns.
func BenchmarkParseLine(b *testing.B) {
	keyed := func(i int) string {
		tx := transferBody(i)
		return fmt.Sprintf(`%s,"idempotency_key":"6ba7b810-9dad-11d1-80b4-%012d"}`, tx[:len(tx)-1], i)
	}
	named := func(i int) string {
		return fmt.Sprintf(`{"operations":[{"op":"TransferFungible","args":{"from_container":"users/%d","to_container":"users/%d","class_id":"EUR","key":0,"quantity":5}}]}`,
			1+i*7919%100_000, 1+i*104729%100_000)
	}
	turns := func(i int) string { return []func(int) string{transferBody, keyed}[i%2](i) }
	for _, c := range []struct {
		name string
		line func(i int) string
	}{{"plain", transferBody}, {"keyed", keyed}, {"named", named}, {"turns", turns}} {
		b.Run(c.name, func(b *testing.B) {
			lines := make([][]byte, 4096)
			for i := range lines {
				lines[i] = []byte(c.line(i))
			}
			var req BatchRequest
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if len(req.Txs) == 512 {
					req.Reset()
				}
				req.ParseLine(lines[i%len(lines)], ParseLimits{})
			}
			if i := len(req.Errs) - 1; req.Errs[i] != nil {
				b.Fatal(req.Errs[i])
			}
		})
	}
}

// BenchmarkParseManyFields parses objects of many fields. The cost must not be
// quadratic.
func BenchmarkParseManyFields(b *testing.B) {
	body := []byte(`{"x":{`)
	for i := range 1_000_000 {
		if i > 0 {
			body = append(body, ',')
		}
		body = fmt.Appendf(body, `"%d":0`, i*7919%1_000_003)
	}
	body = append(body, `}}`...)
	var tx Transaction
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if err := ParseTransaction(body, &tx, ParseLimits{}); err == nil || err.Code != InvalidRequest {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendResult(b *testing.B) {
	var tx Transaction
	if err := ParseTransaction([]byte(keyedTransfer), &tx, ParseLimits{}); err != nil {
		b.Fatal(err)
	}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendResult(dst[:0], &tx, 123_456_789, 42, 0, 0)
	}
}

func benchmarkRecord(b *testing.B, body string) (tx Transaction, record []byte) {
	if err := ParseTransaction([]byte(body), &tx, ParseLimits{}); err != nil {
		b.Fatal(err)
	}
	record = AppendRecord(nil, &tx, &Outcome{})
	b.SetBytes(int64(len(record)))
	b.ReportAllocs()
	return tx, record
}

func BenchmarkAppendRecord(b *testing.B) {
	tx, dst := benchmarkRecord(b, oneTransfer)
	var out Outcome
	for b.Loop() {
		dst = AppendRecord(dst[:0], &tx, &out)
	}
}

func BenchmarkDecodeRecord(b *testing.B) {
	_, record := benchmarkRecord(b, oneTransfer)
	var r Record
	for b.Loop() {
		if err := r.Decode(record); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeKeyedRecord(b *testing.B) {
	_, record := benchmarkRecord(b, keyedTransfer)
	var r Record
	for b.Loop() {
		if err := r.Decode(record); err != nil {
			b.Fatal(err)
		}
	}
}
