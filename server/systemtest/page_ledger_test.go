package systemtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"assetledger/server"
	"assetledger/server/httpserver"
	"assetledger/server/reader"
	"assetledger/server/writer"
)

// A pageLedger runs both daemons in this process, on a new log.
type pageLedger struct {
	t             *testing.T
	dir           string
	writer        *daemon
	reader        *daemon
	address       string // listen address of the reader, and of its successor
	lastCommitted uint64
}

func startPageLedger(t *testing.T) *pageLedger {
	t.Helper()
	l := &pageLedger{t: t, dir: t.TempDir(), address: "127.0.0.1:0"}
	l.writer = startDaemon(t, "the write daemon", func(ctx context.Context, ready readyLine, log *slog.Logger) error {
		c := writer.DefaultConfig()
		c.Dir, c.Listen, c.SegmentSize, c.Ready, c.Log = l.dir, "127.0.0.1:0", 1<<20, ready, log
		return server.RunWrite(ctx, c)
	})
	l.startReader()
	return l
}

func (l *pageLedger) startReader() {
	l.t.Helper()
	l.reader = startDaemon(l.t, "the read daemon", func(ctx context.Context, ready readyLine, log *slog.Logger) error {
		return server.RunRead(ctx, reader.Config{
			Dir: l.dir, Listen: l.address, Name: "read", Page: true, WriteURL: l.writer.url, IdempotencyKeys: writer.DefaultConfig().IdempotencyKeys, Poll: 100 * time.Millisecond, Timeouts: httpserver.DefaultTimeouts, Ready: ready, Log: log,
		})
	})
	l.address = strings.TrimPrefix(l.reader.url, "http://")
}

// warehouse commits the scenario, including rejected transactions and retries.
func (l *pageLedger) warehouse() {
	l.t.Helper()
	lines, err := os.ReadFile("../../testdata/warehouse/transactions.ndjson")
	if err != nil {
		l.t.Fatal(err)
	}
	l.post("/v1/commit/batch", `{"transactions":[`+strings.Join(strings.Split(strings.TrimSpace(string(lines)), "\n"), ",")+`]}`)
}

// commit commits operations, given as JSON.
func (l *pageLedger) commit(operations string) {
	l.t.Helper()
	l.post("/v1/commit", `{"operations":[`+operations+`]}`)
}

func (l *pageLedger) post(path, body string) {
	l.t.Helper()
	answer, err := http.Post(l.writer.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK {
		l.t.Fatalf("%s: %d %s", path, answer.StatusCode, text)
	}
	fmt.Sscan(answer.Header.Get("X-Asset-Seq"), &l.lastCommitted)
}

// An object is a JSON object whose numbers keep their spelling.
type object = map[string]any

// read requests path from the reader, once the last commit is applied.
func (l *pageLedger) read(path string) object {
	l.t.Helper()
	join := "?"
	if strings.Contains(path, "?") {
		join = "&"
	}
	if !strings.Contains(path, "at_seq=") && path != "/v1/status" { // reads with at_seq wait for their commit themselves
		path += join + fmt.Sprintf("min_seq=%d&wait=20s", l.lastCommitted)
	}
	answer, err := http.Get(l.reader.url + path)
	if err != nil {
		l.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		l.t.Fatalf("%s: %d %s %v", path, answer.StatusCode, text, err)
	}
	var o object
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&o); err != nil {
		l.t.Fatal(err)
	}
	return o
}

// data returns read(path).data.
func (l *pageLedger) data(path string) object {
	l.t.Helper()
	return l.read(path)["data"].(object)
}

// listOf returns a list of objects in an object.
func listOf(o object, name string) (list []object) {
	for _, e := range o[name].([]any) {
		list = append(list, e.(object))
	}
	return list
}

// str returns the text that the page shows by default for a value.
func str(v any) string {
	if v == nil {
		return "null"
	}
	return fmt.Sprint(v)
}

// decimal returns a quantity with the class's decimals. It works on the text, not on
// a number.
func (l *pageLedger) decimal(quantity, classID any) string {
	l.t.Helper()
	var n int
	fmt.Sscan(str(l.data("/v1/read/class/" + str(classID))["decimals"]), &n)
	text := str(quantity)
	if n == 0 {
		return text
	}
	text = strings.Repeat("0", max(0, n+1-len(text))) + text
	return text[:len(text)-n] + "." + text[len(text)-n:]
}

func (l *pageLedger) className(id any) string {
	l.t.Helper()
	return str(l.data("/v1/read/class/" + str(id))["name"])
}

// readAll returns the body of a response.
func readAll(t *testing.T, answer *http.Response) string {
	t.Helper()
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
