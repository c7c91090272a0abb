package writer

import (
	"assetledger/server/httpserver"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWriteAnswers compares responses of the write daemon, with their headers, with
// recorded ones. It covers commits, batches, preflights, registrations, reversals and
// health. One daemon gets all requests in order.
func TestWriteAnswers(t *testing.T) {
	const file = "../../testdata/writes/answers.txt"
	l := newRAMLog()
	w := startWriter(t, l, func(c *Config) { c.MaxBody, c.MaxBatchBody = 2000, 4000 })
	mint := `{"operations":[{"op":"MintInstance","args":{"class_id":2}},{"op":"MintInstance","args":{"class_id":2}}]%s}`
	pad := strings.Repeat(" ", 2000)
	key := "X-Idempotency-Key: "
	var b strings.Builder
	for _, c := range []struct {
		about, method, path, body string
		header                    []string
	}{
		{"a commit", "POST", "/v1/commit", world, nil},
		{"metadata comes back", "POST", "/v1/commit", transferTx(1, `,"metadata":{"b":1.50,"a":[ ]}`), nil},
		{"a key in the body", "POST", "/v1/commit", transferTx(1, `,"metadata":{"a":1},"idempotency_key":"k1"`), nil},
		{"its replay, spelled differently", "POST", "/v1/commit", ` {"metadata": {"a":1},` + transferTx(1, ``)[1:], []string{key + "k1"}},
		{"its key with another request", "POST", "/v1/commit", transferTx(2, `,"idempotency_key":"k1"`), nil},
		{"a key in the header", "POST", "/v1/commit", transferTx(1, ``), []string{key + "k2"}},
		{"the same key twice", "POST", "/v1/commit", transferTx(1, `,"idempotency_key":"k2"`), []string{key + "k2"}},
		{"two keys", "POST", "/v1/commit", transferTx(1, `,"idempotency_key":"k1"`), []string{key + "k2"}},
		{"an invalid key", "POST", "/v1/commit", transferTx(1, ``), []string{key + "k\u00e4"}},
		{"instances", "POST", "/v1/commit", fmt.Sprintf(mint, ""), nil},
		{"a rejection names the operation", "POST", "/v1/commit",
			`{"operations":[{"op":"RemoveContainer","args":{"container_id":1}},{"op":"RemoveContainer","args":{"container_id":9}}]}`, nil},
		{"more than the balance", "POST", "/v1/commit", transferTx(5000, ""), nil},
		{"not JSON", "POST", "/v1/commit", `{"operations":`, nil},
		{"no transaction", "POST", "/v1/commit", `{"operations":[]}`, nil},
		{"an unknown operation", "POST", "/v1/commit", `{"operations":[{"op":"Steal","args":{}}]}`, nil},
		{"too deep", "POST", "/v1/commit", transferTx(1, `,"metadata":{"a":`+strings.Repeat("[", 40)+strings.Repeat("]", 40)+`}`), nil},
		{"too large", "POST", "/v1/commit", transferTx(1, pad), nil},
		{"no type", "POST", "/v1/commit", world, []string{"Content-Type: "}},
		{"a wrong type, and too large", "POST", "/v1/commit", pad + pad, []string{"Content-Type: text/plain"}},
		{"a wrong charset", "POST", "/v1/commit", world, []string{"Content-Type: application/json; charset=latin1"}},
		{"the right charset", "POST", "/v1/commit", transferTx(1, ``), []string{"Content-Type: application/json; charset=UTF-8"}},
		{"compressed", "POST", "/v1/commit", world, []string{"Content-Encoding: gzip"}},
		{"a wrong method", "GET", "/v1/commit", "", nil},
		{"a wrong method for health", "POST", "/v1/health", "", nil},
		{"an unknown path", "POST", "/v1/commits", world, nil},

		{"a class", "POST", "/v1/register/class", `{"class_id":3,"name":"Silver","decimals":2}`, nil},
		{"a class with every field", "POST", "/v1/register/class", `{"class_id":4,"name":"Shield","fungible":false,"decimals":0,"metadata":{"by":"x"},"idempotency_key":"c4"}`, nil},
		{"its replay", "POST", "/v1/register/class", `{"class_id":4,"name":"Shield","fungible":false,"decimals":0,"metadata":{"by":"x"}}`, []string{key + "c4"}},
		{"its key at another endpoint", "POST", "/v1/commit",
			`{"operations":[{"op":"RegisterClass","args":{"request":{"class_id":4,"name":"Shield","fungible":false,"decimals":0}}}],"metadata":{"by":"x"}}`, []string{key + "c4"}},
		{"a class again", "POST", "/v1/register/class", `{"class_id":3,"name":"Silver"}`, nil},
		{"a class without a name", "POST", "/v1/register/class", `{"class_id":5}`, nil},
		{"a shape for all keys", "POST", "/v1/register/class-shape", `{"class_id":3,"width":2,"height":1}`, nil},
		{"a shape for one", "POST", "/v1/register/class-shape", `{"class_id":3,"key":7,"width":2,"height":3}`, []string{key + "s3"}},
		{"its replay", "POST", "/v1/register/class-shape", `{"height":3,"class_id":3,"key":7,"width":2}`, []string{key + "s3"}},
		{"a shape of an unknown class", "POST", "/v1/register/class-shape", `{"class_id":99,"width":2,"height":3}`, nil},

		{"a preflight", "POST", "/v1/commit/preflight", fmt.Sprintf(mint, ""), nil},
		{"it changed nothing", "POST", "/v1/commit/preflight", fmt.Sprintf(mint, ""), nil},
		{"a rejected one", "POST", "/v1/commit/preflight", transferTx(5000, ""), nil},
		{"one with a new key", "POST", "/v1/commit/preflight", fmt.Sprintf(mint, `,"idempotency_key":"m"`), nil},
		{"the commit", "POST", "/v1/commit", fmt.Sprintf(mint, `,"idempotency_key":"m"`), nil},
		{"a preflight with its key", "POST", "/v1/commit/preflight", fmt.Sprintf(mint, `,"idempotency_key":"m"`), nil},
		{"a preflight with its key and something else", "POST", "/v1/commit/preflight", transferTx(1, `,"idempotency_key":"m"`), nil},

		{"a batch", "POST", "/v1/commit/batch", batchOf("", transferTx(1, `,"idempotency_key":"b1"`), transferTx(9999, ""), `{"operations":[]}`,
			transferTx(1, `,"idempotency_key":"b1"`), transferTx(2, `,"idempotency_key":"b1"`), transferTx(3, "")), nil},
		{"a batch that stops", "POST", "/v1/commit/batch", batchOf(`,"on_error":"stop"`, transferTx(1, ""), transferTx(9999, ""), transferTx(1, ""), transferTx(1, "")), nil},
		{"a batch that stops at a malformed transaction", "POST", "/v1/commit/batch", batchOf(`,"on_error":"stop"`, transferTx(1, ""), `{}`, transferTx(1, "")), nil},
		{"a batch in which everything is rejected", "POST", "/v1/commit/batch", batchOf("", transferTx(9999, "")), nil},
		{"a batch that was already executed", "POST", "/v1/commit/batch", batchOf("", transferTx(1, `,"idempotency_key":"b1"`)), nil},
		{"a batch with a key", "POST", "/v1/commit/batch", batchOf("", transferTx(1, "")), []string{key + "b"}},
		{"an array instead of a batch", "POST", "/v1/commit/batch", `[]`, nil},
		{"an empty batch", "POST", "/v1/commit/batch", batchOf(""), nil},
		{"a batch that is not JSON", "POST", "/v1/commit/batch", batchOf("", transferTx(1, ""), `{"operations":[}`), nil},
		{"a batch that is too large", "POST", "/v1/commit/batch", batchOf("", transferTx(1, pad+pad)), nil},

		{"a class with a code and no id", "POST", "/v1/register/class", `{"name":"Euro","decimals":2,"code":"EUR"}`, nil},
		{"a class with a code and a key", "POST", "/v1/register/class", `{"name":"Yen","code":"JPY"}`, []string{key + "c5"}},
		{"its replay", "POST", "/v1/register/class", `{"code":"JPY","name":"Yen"}`, []string{key + "c5"}},
		{"a code that is taken", "POST", "/v1/register/class", `{"class_id":9,"name":"Euro","code":"EUR"}`, nil},
		{"a shape of a code", "POST", "/v1/register/class-shape", `{"class_id":"EUR","width":2,"height":1}`, nil},
		{"a container with a name", "POST", "/v1/commit", `{"operations":[{"op":"CreateContainer","args":{"kind":"Standard","name":"users/42"}},` +
			`{"op":"AddFungible","args":{"container_id":"users/42","class_id":"EUR","key":0,"quantity":500}}]}`, nil},
		{"a name that does not exist", "POST", "/v1/commit", `{"operations":[{"op":"RemoveContainer","args":{"container_id":"users/43"}}]}`, nil},
		{"an invalid name", "POST", "/v1/commit", `{"operations":[{"op":"RemoveContainer","args":{"container_id":"7"}}]}`, nil},
		{"a condition that fails", "POST", "/v1/commit", `{"operations":[{"op":"RequireBalance","args":{"container_id":"users/42","class_id":"EUR","key":0,"at_least":501}},` +
			`{"op":"RemoveContainer","args":{"container_id":1}}]}`, nil},
		{"conditions alone", "POST", "/v1/commit", `{"operations":[{"op":"RequireUnchanged","args":{"container_id":1,"since_seq":0}}]}`, nil},
		{"conditions alone in a batch", "POST", "/v1/commit/batch", batchOf("", `{"operations":[{"op":"RequireUnchanged","args":{"container_id":1,"since_seq":0}}]}`), nil},
		{"conditions alone in a preflight", "POST", "/v1/commit/preflight", `{"operations":[{"op":"RequireBalance","args":{"container_id":1,"class_id":1,"key":0,"at_most":1000}}]}`, nil},
		{"a hold", "POST", "/v1/commit", holdTx(7, 100), nil},
		{"its id again", "POST", "/v1/commit", holdTx(7, 1), nil},
		{"a transfer of what is held", "POST", "/v1/commit", transferTx(900, ""), nil},
		{"a hold that does not exist", "POST", "/v1/commit", `{"operations":[{"op":"ReleaseHold","args":{"hold_id":8}}]}`, nil},
		{"a settlement of more than is held", "POST", "/v1/commit", `{"operations":[{"op":"SettleHold","args":{"hold_id":7,"to_container":2,"quantity":101}}]}`, nil},
		{"a merge of what is held", "POST", "/v1/commit", `{"operations":[{"op":"MergeStacks","args":{"container_id":1,"class_id":1,"from_key":0,"to_key":1}}]}`, nil},
		{"a settlement", "POST", "/v1/commit", `{"operations":[{"op":"SettleHold","args":{"hold_id":7,"to_container":2,"quantity":60,"keep":true}}]}`, nil},

		{"a transfer to reverse", "POST", "/v1/commit", transferTx(7, ""), nil},
		{"its reversal", "POST", reversal(22), `{"metadata":{"why":"returned"}}`, []string{key + "r"}},
		{"its replay", "POST", reversal(22), `{"idempotency_key":"r","metadata":{"why":"returned"}}`, nil},
		{"its key for another commit", "POST", reversal(21), `{"metadata":{"why":"returned"}}`, []string{key + "r"}},
		{"its key with other metadata", "POST", reversal(22), `{}`, []string{key + "r"}},
		{"a second reversal", "POST", reversal(22), `{}`, nil},
		{"the reversal of the reversal", "POST", reversal(23), `{}`, nil},
		{"a settlement can't be reversed", "POST", reversal(21), `{}`, nil},
		{"a registration can't be reversed", "POST", reversal(1), `{}`, nil},
		{"a hold that was partly settled", "POST", reversal(20), `{}`, nil},
		{"a commit that does not exist", "POST", reversal(99), `{}`, nil},
		{"commit 0", "POST", reversal(0), `{}`, nil},
		{"a path without a number", "POST", "/v1/commit/last/reverse", `{}`, nil},
		{"a query string", "POST", reversal(22) + "?dry=1", `{}`, nil},
		{"operations in a reversal", "POST", reversal(22), `{"operations":[]}`, nil},
		{"no body", "POST", reversal(22), ``, nil},
		{"a reversal without a type", "POST", reversal(22), `{}`, []string{"Content-Type: "}},
		{"a wrong method for a reversal", "GET", reversal(22), ``, nil},
		{"an import of a reversal", "POST", "/v1/commit", transferTx(1, `,"reverses":21`), nil},
		{"of a commit that was reversed", "POST", "/v1/commit", transferTx(1, `,"reverses":22`), nil},
		{"of a later commit", "POST", "/v1/commit", transferTx(1, `,"reverses":99`), nil},
		{"of no commit", "POST", "/v1/commit", transferTx(1, `,"reverses":0`), nil},
		{"health", "GET", "/v1/health", "", nil},
	} {
		a := w.do(c.method, c.path, c.body, c.header...)
		fmt.Fprintf(&b, "### %s\n%s %s\n", c.about, c.method, c.path)
		for _, h := range c.header {
			fmt.Fprintln(&b, h)
		}
		body := strings.ReplaceAll(strings.ReplaceAll(c.body, pad, "<pad>"), "\n\t", "")
		fmt.Fprintf(&b, "%s\n→ %d\n", body, a.status)
		for _, name := range []string{"Content-Type", "Allow", "Connection", "Retry-After", headerHit, httpserver.HeaderSeq} {
			if v := a.header.Get(name); v != "" {
				fmt.Fprintf(&b, "%s: %s\n", name, v)
			}
		}
		fmt.Fprintf(&b, "%s\n\n", a.body)
	}
	if *updateWrites {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("the responses differ from %s; -want +got:\n%s", file, diff)
	}
}

func holdTx(id, quantity int) string {
	return fmt.Sprintf(`{"operations":[{"op":"HoldFungible","args":{"hold_id":%d,"container_id":1,"class_id":1,"key":0,"quantity":%d}}]}`, id, quantity)
}
