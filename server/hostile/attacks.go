package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// An attack is one kind of hostile client. Each client runs play, which repeats its
// requests until stop is closed. prepare, if it is not nil, runs once before that.
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

// stacks is the number of stacks that a consolidation merges.
const stacks = 90_000

// attacks returns all attacks. The largest body and its parsed form nearly fill
// the budget.
func attacks(size scale) []attack {
	bigAnswers := post("/v1/commit/batch", bigBatch(size))
	fill := func(l *ledger) error { return l.must("/v1/commit/batch", bigBatch(size)) } // commits that are expensive to read back
	return []attack{
		{"none", 0, nil, nil},
		{"slow large bodies", 16, nil, func(l *ledger, stop <-chan struct{}) { slowBody(l, stop, "/v1/commit/batch", int(size.maxBody)) }},
		{"slow bodies of 1 MiB", 100, nil, func(l *ledger, stop <-chan struct{}) { slowBody(l, stop, "/v1/commit", 1<<20) }},
		{"batches of rejected consolidations", 4, manyStacks, repeated("/v1/commit/batch", batch(10_000, ops(1,
			`{"op":"ConsolidateStacks","args":{"container_id":2,"class_id":1}}`)+`,{"op":"Detach","args":{"instance_id":1}}`, ""))},
		{"preflights of consolidations", 4, manyStacks, repeated("/v1/commit/preflight",
			`{"operations":[{"op":"ConsolidateStacks","args":{"container_id":2,"class_id":1}}]}`)},
		{"batches of first fit in a full grid", 4, nil, repeated("/v1/commit/batch", batch(1000, ops(40,
			`{"op":"AddFungible","args":{"container_id":3,"class_id":1,"key":5,"quantity":1}},`+
				`{"op":"RemoveFungible","args":{"container_id":3,"class_id":1,"key":5,"quantity":1}}`), ""))},
		{"batches of first fit among holes", 4, holedGrid, repeated("/v1/commit/batch", batch(20, ops(searches, searchAgain), ""))},
		{"reversals of a large commit", 200, largeCommit, unread(func(l *ledger) (*daemon, string) {
			return l.writer, strings.Repeat(post(fmt.Sprintf("/v1/commit/%d/reverse", l.large), "{}"), 20)
		})},
		{"reads of a large container's past", 32, manyStacks, pastReads},
		{"many operations in large bodies", 8, nil, repeated("/v1/commit/batch", batch(1800*size.times, ops(160, `{"op":"Detach","args":{"instance_id":1}}`), ""))},
		{"batches of invalid transactions", 16, nil, repeated("/v1/commit/batch", `{"transactions":[`+ops(10_000, "1")+`]}`)},
		{"batch answers that nobody reads", 24, nil, unread(func(l *ledger) (*daemon, string) { return l.writer, bigAnswers })},
		{"pages that nobody reads", 100, fill, unread(func(l *ledger) (*daemon, string) {
			return l.reader, "GET /v1/read/commits?limit=10000 HTTP/1.1\r\nHost: x\r\n\r\n"
		})},
		{"streams that nobody reads", 100, fill, unread(func(l *ledger) (*daemon, string) {
			return l.reader, "GET /v1/read/commits HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n"
		})},
		{"streams of commits that nobody reads", 24, nil, unreadLines(`{"operations":[` + goodOperation + `],"metadata":{"a":"` + strings.Repeat("x", 10_000) + `"}}` + "\n")},
		{"streams of rejections that nobody reads", 24, nil, unreadLines("1\n")},
		{"streams of empty lines", 8, nil, unreadLines("\n")},
		{"streams of endless lines", 24, nil, unreadLines(strings.Repeat(" x", 500))},
		{"idle streams", 600, nil, idleStream},
	}
}

func bigBatch(size scale) string {
	return batch(1000*size.times, goodOperation, `,"metadata":{"a":"`+strings.Repeat("x", 10_000)+`"}`)
}

const goodOperation = `{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":1,"quantity":1}}`

func ops(n int, op string) string { return strings.Repeat(op+",", n-1) + op }

func batch(n int, operations, more string) string {
	return `{"transactions":[` + ops(n, `{"operations":[`+operations+`]`+more+`}`) + `]}`
}

func post(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

// pause is the time between two requests of an attacker. These attacks are not
// floods.
const pause = 100 * time.Millisecond

// until calls the function do repeatedly, with a pause after each call, until stop is
// closed.
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

// repeated posts a body, reads the response, and posts it again.
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

// unread sends a request and never reads the response. It then sends more[0]
// repeatedly, without a pause. If there is no more[0], it sends line breaks, with a
// pause before each. When the daemon closes the connection, unread starts again.
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

// slowBody sends a body without its last byte, and waits until the daemon closes
// the connection. The next body is half as large, because it may fit the budget even
// if this one did not.
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
			io.Copy(io.Discard, c) // until the daemon closes the connection
		}
		if size /= 2; size < 256 {
			size = largest
		}
	})
}

// manyStacks creates the stacks in container 2.
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

// holedGrid creates grid 4. Its columns leave holes of one cell in each row, and
// four free rows at the bottom. A small stack in a hole moves up and down, so that
// first fit must search everything again before it reaches those rows.
func holedGrid(l *ledger) error {
	list := []string{
		`{"op":"CreateContainer","args":{"container_id":4,"kind":"Grid","grid_width":1024,"grid_height":1024}}`,
		`{"op":"RegisterClassShape","args":{"request":{"class_id":1,"key":7,"width":1,"height":1}}}`,
		`{"op":"RegisterClassShape","args":{"request":{"class_id":1,"key":8,"width":2,"height":3}}}`,
		`{"op":"AddFungible","args":{"container_id":4,"class_id":1,"key":7,"quantity":1,"x":0,"y":0}}`,
	}
	for key := 1000; key < 1341; key++ {
		list = append(list, fmt.Sprintf(`{"op":"RegisterClassShape","args":{"request":{"class_id":1,"key":%d,"width":2,"height":1020}}},`+
			`{"op":"AddFungible","args":{"container_id":4,"class_id":1,"key":%d,"quantity":1,"x":%d,"y":0}}`, key, key, 3*(key-1000)+1))
	}
	return l.must("/v1/commit", `{"operations":[`+strings.Join(list, ",")+`]}`)
}

// searches is the number of searches of grid 4 in one transaction. It is a little
// more than permitted, so the transaction is rolled back at its end.
const searches = 250

const searchAgain = `{"op":"MoveInGrid","args":{"container_id":4,"x":0,"y":0,"to_x":0,"to_y":1000}},` +
	`{"op":"MoveInGrid","args":{"container_id":4,"x":0,"y":1000,"to_x":0,"to_y":0}},` +
	`{"op":"AddFungible","args":{"container_id":4,"class_id":1,"key":8,"quantity":1}},` +
	`{"op":"RemoveFungible","args":{"container_id":4,"class_id":1,"key":8,"quantity":1}}`

// largeCommit makes a commit that has many operations and can't be reversed: the
// last operation of its inverse is rejected.
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

// pastReads reads a container as it was in the middle of manyStacks.
func pastReads(l *ledger, stop <-chan struct{}) {
	until(stop, func() {
		resp, err := http.Get("http://" + l.reader.addr + "/v1/read/container/2/balances?limit=1&at_seq=8")
		if err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
}

const openStream = "POST /v1/commit/stream HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"

// unreadLines sends a text over and over in a stream of commits, as fast as the
// daemon reads it, and never reads the results. When the daemon ends the stream,
// unreadLines opens another one.
func unreadLines(text string) func(*ledger, <-chan struct{}) {
	if n := 32 << 10 / len(text); n > 1 {
		text = strings.Repeat(text, n)
	}
	chunk := fmt.Sprintf("%x\r\n%s\r\n", len(text), text)
	return unread(func(l *ledger) (*daemon, string) { return l.writer, openStream }, chunk)
}

// idleStream opens a stream of commits and sends an endless line of "{", one byte per
// second. When the daemon rejects or ends the stream, idleStream opens another one.
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
