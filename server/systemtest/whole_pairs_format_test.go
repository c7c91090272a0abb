package systemtest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// The files in testdata/pairs hold exchanges, one after another:
//
//	# 400 InvalidRequest: what this exchange shows
//	> POST /v1/commit
//	Content-Type: application/json
//
//	{"operations":[]}
//
//	< 400
//	Content-Type: application/json
//
//	{"error":{"code":"InvalidRequest"}}
//
// The comment line before the request is written by hand, and says what the API
// requires: a status, for an error also a code, then a colon and a description. It is
// compared with the recorded response, so that -update can't record a mistake
// unnoticed.
//
// Requests to /v1/read/… go to the read daemon, and those to /v1/commit… and
// /v1/register/… go to the write daemon. Other requests go to the daemon of the folder,
// or to the one named by the placeholder {write_base_url} or {read_base_url} before the
// path. A POST without a Content-Type line is sent as application/json. In a request,
// {next_cursor} and {etag} stand for the values in the response before it.
//
// If the lines of a request body begin with @, the body is built from them: @quoted
// "a Go string", @repeat 100 "a Go string".
//
// A line "! restart write" or "! restart read" between exchanges stops the named
// daemon and starts it again on the same folder.
type exchange struct {
	line    int
	words   []string // comment lines, with their #
	restart string   // "write" or "read": not an exchange
	method  string
	target  string
	reqHead []string
	reqBody string
	status  int
	head    []string // "Name: value", sorted; only checkedHeaders
	body    string
}

// parsePairs parses a file. Exchanges that are yet to be recorded may have no
// response.
func parsePairs(t *testing.T, name, text string) []*exchange {
	t.Helper()
	lines := strings.Split(text, "\n")
	var list []*exchange
	next := &exchange{}
	for i := 0; i < len(lines); {
		switch line := lines[i]; {
		case line == "":
			i++
		case strings.HasPrefix(line, "#"):
			next.words = append(next.words, line)
			i++
		case strings.HasPrefix(line, "! restart "):
			next.restart, next.line = strings.TrimPrefix(line, "! restart "), i+1
			list, next = append(list, next), &exchange{}
			i++
		case strings.HasPrefix(line, "> "):
			next.line = i + 1
			if n, err := fmt.Sscanf(line, "> %s %s", &next.method, &next.target); n != 2 {
				t.Fatalf("%s:%d: not a request line: %v", name, i+1, err)
			}
			next.reqHead, next.reqBody, i = parseMessage(lines, i+1)
			if i < len(lines) && strings.HasPrefix(lines[i], "< ") {
				next.status, _ = strconv.Atoi(lines[i][2:])
				next.head, next.body, i = parseMessage(lines, i+1)
			}
			list, next = append(list, next), &exchange{}
		default:
			t.Fatalf("%s:%d: neither a comment nor a request: %q", name, i+1, line)
		}
	}
	if len(next.words) > 0 {
		list = append(list, next) // comments at the end
	}
	return list
}

// parseMessage parses header lines and, after a blank line, a body, up to the
// next exchange or response.
func parseMessage(lines []string, i int) (head []string, body string, next int) {
	for ; i < len(lines) && lines[i] != ""; i++ {
		head = append(head, lines[i])
	}
	var text []string
	for ; i < len(lines) && !startsPart(lines[i]); i++ {
		text = append(text, lines[i])
	}
	return head, strings.Trim(strings.Join(text, "\n"), "\n"), i
}

func startsPart(line string) bool {
	return strings.HasPrefix(line, "> ") || strings.HasPrefix(line, "< ") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "! ")
}

// formatPairs is the inverse of parsePairs.
func formatPairs(list []*exchange) string {
	var b strings.Builder
	for i, x := range list {
		if i > 0 {
			b.WriteString("\n")
		}
		for _, w := range x.words {
			b.WriteString(w + "\n")
		}
		if x.restart != "" {
			b.WriteString("! restart " + x.restart + "\n")
		}
		if x.method == "" {
			continue
		}
		writeMessage(&b, fmt.Sprintf("> %s %s", x.method, x.target), x.reqHead, x.reqBody)
		b.WriteString("\n")
		writeMessage(&b, fmt.Sprintf("< %d", x.status), x.head, x.body)
	}
	return b.String()
}

func writeMessage(b *strings.Builder, first string, head []string, body string) {
	b.WriteString(first + "\n")
	for _, h := range head {
		b.WriteString(h + "\n")
	}
	if body != "" {
		b.WriteString("\n" + body + "\n")
	}
}

// bytesToSend builds a request body.
func bytesToSend(t *testing.T, x *exchange) string {
	t.Helper()
	if !strings.HasPrefix(x.reqBody, "@") {
		return x.reqBody
	}
	var b strings.Builder
	for _, line := range strings.Split(x.reqBody, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		times := 1
		if word == "@repeat" {
			var count string
			count, rest, _ = strings.Cut(rest, " ")
			times, _ = strconv.Atoi(count)
		}
		s, err := strconv.Unquote(rest)
		if err != nil || times < 1 {
			t.Fatalf("line %d: not a line of a body: %s", x.line, line)
		}
		b.WriteString(strings.Repeat(s, times))
	}
	return b.String()
}

// checkWords compares the response with the comment line before the request, which
// was written by hand.
func checkWords(t *testing.T, name string, x *exchange) {
	t.Helper()
	if len(x.words) == 0 {
		t.Errorf("%s:%d: no comment says what this exchange shows", name, x.line)
		return
	}
	promise, _, ok := strings.Cut(strings.TrimPrefix(x.words[len(x.words)-1], "# "), ":")
	status, code, _ := strings.Cut(promise, " ")
	if want, err := strconv.Atoi(status); !ok || err != nil {
		t.Errorf("%s:%d: the line before it must begin with a status: %q", name, x.line, x.words[len(x.words)-1])
	} else if want != x.status {
		t.Errorf("%s:%d: %s %s: status %d, want %s\n%s", name, x.line, x.method, x.target, x.status, promise, x.body)
	}
	if got := errorCode(x.body); got != code {
		t.Errorf("%s:%d: %s %s: code %q, want %q\n%s", name, x.line, x.method, x.target, got, code, x.body)
	}
}
