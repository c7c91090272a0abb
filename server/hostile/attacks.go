package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// An attack is what one kind of hostile client does, again and again until
// stop is closed.
type attack struct {
	name    string
	clients int
	prepare func(*ledger) error
	play    func(*ledger, <-chan struct{})
}

const (
	world = `{"operations":[{"op":"CreateContainer","args":{"container_id":1,"kind":"Standard"}},` +
		`{"op":"CreateContainer","args":{"container_id":2,"kind":"Standard"}},` +
		`{"op":"CreateContainer","args":{"container_id":3,"kind":"Grid","grid_width":1024,"grid_height":1024}},` +
		`{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"Gold"}}},` +
		`{"op":"RegisterClass","args":{"request":{"class_id":2,"name":"Block"}}},` +
		`{"op":"RegisterClassShape","args":{"request":{"class_id":2,"width":1024,"height":1023}}},` +
		`{"op":"RegisterClassShape","args":{"request":{"class_id":1,"width":1,"height":1}}},` +
		`{"op":"AddFungible","args":{"container_id":3,"class_id":2,"key":0,"quantity":1}}]}`
	goodCommit = `{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":1}}]}`
)

// stacks is how many stacks the costly consolidation moves.
const stacks = 90_000

var attacks = []attack{
	{"none", 0, nil, nil},
	{"slow large bodies", 16, nil, slowBodies},
	{"slow bodies of 1 MiB", 100, nil, slowSmallBodies},
	{"batches of refused consolidations", 4, manyStacks, repeated("/v1/commit/batch", batch(10_000, ops(1,
		`{"op":"ConsolidateStacks","args":{"container_id":2,"class_id":1}}`)+`,{"op":"Detach","args":{"instance_id":1}}`, ""))},
	{"preflights of consolidations", 4, manyStacks, repeated("/v1/commit/preflight",
		`{"operations":[{"op":"ConsolidateStacks","args":{"container_id":2,"class_id":1}}]}`)},
	{"batches of first fit in a full grid", 4, nil, repeated("/v1/commit/batch", batch(1000, ops(40,
		`{"op":"AddFungible","args":{"container_id":3,"class_id":1,"key":5,"quantity":1}},`+
			`{"op":"RemoveFungible","args":{"container_id":3,"class_id":1,"key":5,"quantity":1}}`), ""))},
	{"reversals of a large commit", 200, largeCommit, unread(func(l *ledger) (*daemon, string) {
		return l.writer, strings.Repeat(post(fmt.Sprintf("/v1/commit/%d/reverse", l.large), "{}"), 20)
	})},
	{"reads of a large container's past", 32, manyStacks, pastReads},
	{"many operations in large bodies", 8, nil, repeated("/v1/commit/batch", batch(1800, ops(160, `{"op":"Detach","args":{"instance_id":1}}`), ""))},
	{"batch answers that nobody reads", 24, nil, unread(func(l *ledger) (*daemon, string) { return l.writer, bigAnswers })},
	{"pages that nobody reads", 100, fillLog, unread(func(l *ledger) (*daemon, string) {
		return l.reader, "GET /v1/read/commits?limit=10000 HTTP/1.1\r\nHost: x\r\n\r\n"
	})},
	{"streams that nobody reads", 100, fillLog, unread(func(l *ledger) (*daemon, string) {
		return l.reader, "GET /v1/read/commits HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n"
	})},
	{"streams of commits that nobody reads", 24, nil, unreadLines(`{"operations":[` + goodOperation + `],"metadata":{"a":"` + strings.Repeat("x", 10_000) + `"}}` + "\n")},
	{"streams of refusals that nobody reads", 24, nil, unreadLines("1\n")},
	{"streams of empty lines", 8, nil, unreadLines("\n")},
	{"streams of lines without end", 24, nil, unreadLines(strings.Repeat(" x", 500))},
	{"idle streams", 600, nil, idleStream},
}

var bigAnswers = post("/v1/commit/batch", batch(1000, goodOperation, `,"metadata":{"a":"`+strings.Repeat("x", 10_000)+`"}`))

const goodOperation = `{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":1,"quantity":1}}`

func ops(n int, op string) string { return strings.Repeat(op+",", n-1) + op }

func batch(n int, operations, more string) string {
	return `{"transactions":[` + ops(n, `{"operations":[`+operations+`]`+more+`}`) + `]}`
}

func post(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

// pause is how long an attacker rests before it comes again: these attacks are
// not floods.
const pause = 100 * time.Millisecond

// until calls do again and again until stop is closed.
func until(stop <-chan struct{}, do func()) {
	for {
		select {
		case <-stop:
			return
		default:
			do()
			time.Sleep(pause)
		}
	}
}

// repeated posts a body, reads what is answered, and posts it again.
func repeated(path, body string) func(*ledger, <-chan struct{}) {
	return func(l *ledger, stop <-chan struct{}) {
		until(stop, func() {
			resp, err := http.Post("http://"+l.writer.addr+path, "application/json", strings.NewReader(body))
			if err == nil {
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
}

// unread sends a request, never reads the answer, and comes again when the
// daemon ends the connection. What follows the request is sent without a pause.
func unread(request func(*ledger) (*daemon, string), more ...string) func(*ledger, <-chan struct{}) {
	return func(l *ledger, stop <-chan struct{}) {
		until(stop, func() {
			d, text := request(l)
			c, err := d.deaf()
			if err != nil {
				return
			}
			defer c.Close()
			_, err = io.WriteString(c, text)
			for err == nil {
				if len(more) > 0 {
					_, err = io.WriteString(c, more[0])
					continue
				}
				time.Sleep(pause)
				_, err = io.WriteString(c, "\r\n")
			}
		})
	}
}

func slowBodies(l *ledger, stop <-chan struct{}) { slowBody(l, stop, "/v1/commit/batch", maxBody) }

func slowSmallBodies(l *ledger, stop <-chan struct{}) { slowBody(l, stop, "/v1/commit", 1<<20) }

// slowBody sends all of a body but for its last byte. If the daemon doesn't take
// it, half of it may still fit.
func slowBody(l *ledger, stop <-chan struct{}, path string, largest int) {
	size := largest
	until(stop, func() {
		c, err := l.writer.deaf()
		if err != nil {
			return
		}
		defer c.Close()
		request := post(path, strings.Repeat(" ", size))
		if _, err := io.WriteString(c, request[:len(request)-1]); err == nil {
			io.Copy(io.Discard, c) // until the daemon ends it
		}
		if size /= 2; size < 256 {
			size = largest
		}
	})
}

// manyStacks puts the stacks into container 2.
func manyStacks(l *ledger) error {
	for at := 0; at < stacks; at += 9000 {
		var list []string
		for key := at; key < at+9000; key++ {
			list = append(list, fmt.Sprintf(`{"op":"AddFungible","args":{"container_id":2,"class_id":1,"key":%d,"quantity":1}}`, key+1))
		}
		if err := l.must("/v1/commit", `{"operations":[`+strings.Join(list, ",")+`]}`); err != nil {
			return err
		}
	}
	return nil
}

// largeCommit makes a commit of many operations that can't be taken back: the
// last one of its inverse is refused.
func largeCommit(l *ledger) error {
	var list []string
	for key := range 9000 {
		list = append(list, fmt.Sprintf(`{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":%d,"quantity":1}}`, 1_000_000+key))
	}
	text, err := l.commit(`{"operations":[` + strings.Join(list, ",") + `]}`)
	if err != nil {
		return err
	}
	if _, err := fmt.Sscanf(text, `{"global_seq":%d,`, &l.large); err != nil {
		return err
	}
	return l.must("/v1/commit", `{"operations":[{"op":"RemoveFungible","args":{"container_id":1,"class_id":1,"key":1000000,"quantity":1}}]}`)
}

// pastReads asks for a container as it was in the middle of manyStacks.
func pastReads(l *ledger, stop <-chan struct{}) {
	until(stop, func() {
		resp, err := http.Get("http://" + l.reader.addr + "/v1/read/container/2/balances?limit=1&at_seq=8")
		if err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
}

// fillLog makes commits that take much to read back.
func fillLog(l *ledger) error {
	_, body, _ := strings.Cut(bigAnswers, "\r\n\r\n")
	return l.must("/v1/commit/batch", body)
}

const openStream = "POST /v1/commit/stream HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"

// unreadLines sends a text over and over in a stream of commits, as fast as it
// is taken, never reads, and comes again when the daemon ends the stream.
func unreadLines(text string) func(*ledger, <-chan struct{}) {
	if n := 32 << 10 / len(text); n > 1 {
		text = strings.Repeat(text, n)
	}
	chunk := fmt.Sprintf("%x\r\n%s\r\n", len(text), text)
	return unread(func(l *ledger) (*daemon, string) { return l.writer, openStream }, chunk)
}

// idleStream opens a stream of commits, sends half a line a byte at a time, and
// comes again when it is refused or ended.
func idleStream(l *ledger, stop <-chan struct{}) {
	until(stop, func() {
		c, err := l.writer.deaf()
		if err != nil {
			return
		}
		defer c.Close()
		for _, err = io.WriteString(c, openStream); err == nil; _, err = io.WriteString(c, "1\r\n{\r\n") {
			time.Sleep(time.Second)
		}
	})
}
