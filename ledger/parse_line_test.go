package ledger

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestParseLine checks that each line is parsed as ParseTransaction parses it on its
// own, whatever the lines around it are.
func TestParseLine(t *testing.T) {
	const op = `{"op":"AddFungible","args":{"container_id":%d,"class_id":"EUR","key":0,"quantity":5}}`
	good := func(n int, more string) string {
		return fmt.Sprintf(`{"operations":[`+op+`,`+op+`]%s}`, n, n+1, more)
	}
	lines := []string{
		good(1, ""),
		`{"operations":[` + fmt.Sprintf(op, 1) + `,{"op":"Nonsense"}]}`,
		good(3, `,"metadata":{ "a" : "b" },"idempotency_key":"k\u0031"`),
		`{"operations":`,
		`{"operations":[]} {}`,
		"\ufeff" + good(1, ""),
		`[]`,
		good(5, `,"metadata":{"a":{"a":1},"b":1}`) + " \r",
		`{"operations":[{"op":"RequireBalance","args":{"container_id":1,"class_id":1,"key":0,"at_least":1}}]}`,
		good(7, strings.Repeat(" ", 100)),
		`{"operations":[` + strings.Repeat(fmt.Sprintf(op, 9)+",", 100) + fmt.Sprintf(op, 10) + `]}`,
		"{\"operations\":[],\"x\xff\":1}",
		good(11, `,"idempotency_key":"k3"`),
	}
	var b BatchRequest
	for range 2 { // the second time with reused memory
		b.Reset()
		for _, line := range lines {
			b.ParseLine([]byte(line), ParseLimits{})
		}
		if len(b.Txs) != len(lines) || len(b.Errs) != len(lines) {
			t.Fatalf("%d transactions and %d errors, want %d of each", len(b.Txs), len(b.Errs), len(lines))
		}
		for i, line := range lines {
			var alone Transaction
			err := ParseTransaction([]byte(line), &alone, ParseLimits{})
			if d := cmp.Diff(err, b.Errs[i]); d != "" {
				t.Errorf("the error of line %d (-alone +in the stream):\n%s", i, d)
			}
			if err != nil {
				alone = Transaction{}
			}
			if d := cmp.Diff(alone, b.Txs[i], cmpopts.IgnoreUnexported(Transaction{})); d != "" {
				t.Errorf("line %d (-alone +in the stream):\n%s", i, d)
			}
		}
	}
	plain := []byte(strings.ReplaceAll(lines[0], `"EUR"`, "1"))
	if n := testing.AllocsPerRun(10, func() {
		b.Reset()
		b.ParseLine(plain, ParseLimits{})
	}); n > 0 {
		t.Errorf("%v allocations for a line, want none", n)
	}
}
