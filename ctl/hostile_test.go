package ctl

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"assetledger/server/servertest/longtest"
	"assetledger/wal"
)

// hostileAnswers are responses of a broken or malicious server.
var hostileAnswers = map[string]http.HandlerFunc{
	"empty object":  says("application/json", `{}`),
	"empty data":    says("application/json", `{"data":{},"freshness":{}}`),
	"nothing":       says("application/json", ``),
	"null":          says("application/json", `null`),
	"nulls":         says("application/json", `{"data":null,"results":null,"balances":null,"global_seq":null,"commits":null,"freshness":null,"status":null}`),
	"null entries":  says("application/json", `{"data":{"slots":[null],"placements":[null],"commits":[null],"classes":[null]},"results":[null],"balances":[null]}`),
	"array":         says("application/json", `[]`),
	"wrong types":   says("application/json", `{"data":"x","results":5,"balances":{},"global_seq":"1","freshness":[],"status":{}}`),
	"huge numbers":  says("application/json", `{"data":{"grid_width":9223372036854775807,"grid_height":9223372036854775807,"slot_count":9223372036854775807,"lag":1e308,"placements":[{"x":9223372036854775807,"width":9223372036854775807,"class_id":-7}],"slots":[{"slot_index":-9223372036854775808}]},"freshness":{"checkpoint_seq":1,"commit_log_seq":9223372036854775807}}`),
	"small grid":    says("application/json", `{"data":{"grid_width":2,"grid_height":2,"slot_count":2,"placements":[{"x":-5,"y":0,"width":9,"height":9,"class_id":-1}],"slots":[{"slot_index":7,"class_id":-1}]},"freshness":{"checkpoint_seq":3,"commit_log_seq":3}}`),
	"strange parts": says("application/json", `{"data":{"class_id":"../..","quantity":{"a":[1]},"total_quantity":"x","held":[],"code":7,"decimals":9223372036854775807,"children":[1],"next_cursor":"a","location":{"container_id":1e99},"holds":[{"class_id":1,"quantity":"5","expires_at":{}}],"holders":[{"class_id":null,"held":-1}]},"class":{"code":{},"class_id":"\u009b2J"},"global_seq":3,"balances":[{"class_id":1e3,"quantity":true}]}`),
	"huge decimals": says("application/json", `{"data":{"class_id":1,"decimals":9223372036854775807,"total_quantity":5,"quantity":5},"balances":[{"class_id":1,"quantity":5}]}`),
	"same cursor":   says("application/json", `{"data":{"classes":[],"commits":[],"containers":[],"next_cursor":"a"},"balances":[],"next_cursor":"a"}`),
	"HTML":          says("text/html", "<html>\x1b[2J\x9b2J\u009b2J</html>"),
	"steering":      says("application/json", `{"status":"`+"\u009b2J\\u009b2J\\u001b[2J"+`","global_seq":3,"batch_seq":1,"metadata":{"a":"`+"\u009b2J\x9b2J\\u001b[2J"+`"},"data":{"name":"`+"\u009b2J"+`","lag":0,"global_seq":3},"freshness":{"checkpoint_seq":3,"commit_log_seq":3}}`),
	"error":         hostileStatus(500, `{"error":{"code":"`+"\\u009b2J"+`","message":"`+"\u009b2J\x9b"+`","details":7}}`),
	"error, code 7": hostileStatus(422, `{"error":{"code":7}}`),
	"status 299":    hostileStatus(299, `{"global_seq":1}`),
	"redirect": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	},
	"cut": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, `{"data":{`)
	},
	"events without commits": says("text/event-stream", ": hello\n\n"),
	"endless": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		pace := time.NewTicker(time.Millisecond) // without one, copying takes all processors
		defer pace.Stop()
		for chunk := bytes.Repeat([]byte(": hello\n\n"), 1000); r.Context().Err() == nil; <-pace.C {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	},
	"silence": func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // only then does the handler notice that the client is gone
		<-r.Context().Done()
	},
}

func says(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		io.WriteString(w, body)
	}
}

func hostileStatus(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// lastIs3 responds to a request for freshness as a daemon does, and passes any other request
// to the handler other.
func lastIs3(other http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/read/freshness" {
			says("application/json", `{"data":{"lag":0,"lag_ms":0},"freshness":{"checkpoint_seq":3,"commit_log_seq":3}}`)(w, r)
			return
		}
		other(w, r)
	}
}

// asking lists command lines of every command that sends requests to a daemon.
var asking = [][]string{
	{"create", "a"}, {"add", "a", "1", "EUR"}, {"remove", "a", "1.5", "1"}, {"transfer", "a", "b", "1", "EUR", "-dry-run"}, {"transfer", "a", "b", "1", "1", "-minor"},
	{"hold", "1", "a", "1", "1"}, {"settle", "1", "a"}, {"settle", "1", "a", "1"}, {"settle", "2", "a", "1"}, {"release", "1"}, {"mint", "sword"}, {"place", "1", "a"},
	{"move", "a", "1", "2"}, {"take", "a", "-slot", "1"}, {"attach", "2", "1"}, {"detach", "1"}, {"burn", "1"}, {"split", "a", "1", "1", "0", "3"}, {"merge", "a", "1", "3", "0"}, {"rename", "a", "b"}, {"delete", "a"}, {"reverse", "1"}, {"reverse", "1", "-key", "k"}, {"reverse", "1", "-dry-run"}, {"commit", "BurnInstance", "instance_id=1"},
	{"commit", "-op", "CreateContainer container_id=1 kind=Standard"},
	{"commit", "-key", "k", "-op", "CreateContainer container_id=1 kind=Standard"},
	{"batch", "-f", "lines"}, {"batch", "-f", "whole"}, {"batch", "-f", "lines", "-resume"},
	{"export"}, {"preflight", "-op", "CreateContainer container_id=1 kind=Standard"},
	{"register", "class", "1", "x"}, {"register", "shape", "1", "1x1"},
	{"read", "container", "1"}, {"read", "balances", "1"}, {"read", "balances", "1", "-all"}, {"read", "slots", "1"},
	{"read", "grid", "1"}, {"read", "grid", "1", "-list"}, {"read", "grid", "1", "-x", "0", "-y", "0", "-width", "1", "-height", "1"},
	{"read", "class", "1"}, {"read", "classes", "-all"}, {"read", "shapes", "1"}, {"read", "stats", "1"}, {"read", "freshness"},
	{"read", "instance", "1"}, {"read", "containers", "-all"}, {"read", "containers", "-prefix", "a"}, {"read", "commit", "1"}, {"read", "commits", "-all"},
	{"read", "commits", "-last", "3"}, {"read", "holds", "users/42", "-all"}, {"read", "hold", "1"}, {"read", "holders", "EUR", "-all"}, {"read", "instances", "1", "-all"},
	{"read", "instance", "2"}, {"register", "class", "EUR", "-id", "7"}, {"read", "balances", "1", "-at", "2", "-all"}, {"read", "grid", "1", "-at", "2026-01-31"},
	{"history", "users/42"}, {"history", "1", "-from", "3", "-to", "2026-01-31", "-all"}, {"statement", "1", "-class", "EUR"}, {"statement", "1", "-class", "1", "-from", "2"},
	{"freshness", "-wait", "2"}, {"watch", "-after", "0", "-count", "1"}, {"watch", "-container", "1", "-after", "0", "-count", "1"},
	{"health"}, {"metrics"}, {"bench", "-duration", "1ms", "-clients", "1", "-containers", "2"},
}

// local matches the commands that send no requests to a daemon.
var local = regexp.MustCompile(`^(token|wal|log|backup|dev|version|help|completion|__)`)

// TestHostileServer checks that every command ends, whatever the response is, and reports a
// message if it fails. Only watch may continue until Ctrl-C. A command must not send control
// sequences to the terminal, and must report the outcome of a commit.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for _, words := range asking {
		cmd, _, err := resolve(commands, words)
		if err != nil {
			t.Fatal(err)
		}
		covered[cmd.Words] = true
	}
	for _, cmd := range commands {
		if !covered[cmd.Words] && !local.MatchString(cmd.Words) {
			t.Errorf("%s is not tried", cmd.Words)
		}
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"lines": "{\"operations\":[]}\n", "whole": `{"transactions":[{"operations":[]}]}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, answer := range hostileAnswers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(lastIs3(answer))
			bare := httptest.NewServer(answer)
			t.Cleanup(server.Close)
			t.Cleanup(bare.Close)
			for i, words := range asking {
				if words[0] == "watch" && (name == "endless" || name == "silence") {
					continue // it rightly continues until Ctrl-C
				}
				base := server.URL
				if i%2 == 1 || strings.Contains(strings.Join(words, " "), "freshness") {
					base = bare.URL
				}
				hostileRun(t, dir, base, words, name, i+len(name))
			}
		})
	}
}

// TestAnswersOfOtherServers checks that a response without the required fields is not a
// success: it comes from another server.
func TestAnswersOfOtherServers(t *testing.T) {
	for _, answer := range []string{"empty object", "null", "empty data", "nulls"} {
		server := httptest.NewServer(hostileAnswers[answer])
		defer server.Close()
		for _, words := range [][]string{{"freshness"}, {"freshness", "-wait", "5"}, {"freshness", "-max-lag", "0"}, {"preflight", "ReleaseHold", "hold_id=1"}, {"reverse", "1", "-dry-run"},
			{"export"}, {"read", "container", "1"}, {"read", "class", "1"}, {"read", "stats", "1"}, {"read", "commit", "1"}, {"read", "freshness"}, {"read", "hold", "1"},
			{"move", "1", "0,0", "1,1"}, {"health"}} {
			for _, format := range []string{"table", "json"} {
				if format == "json" && words[0] == "read" {
					continue // the response is shown unchanged
				}
				var out, errs bytes.Buffer
				args := append(append([]string{}, words...), "-o", format, "-timeout", "100ms", "-write-url", server.URL, "-read-url", server.URL)
				if code := Main(args, strings.NewReader(""), &out, &errs, noEnv); code == exitDone || errs.Len() == 0 {
					t.Errorf("%s: %q exits with %d, want a failure and a message: %q %q", answer, args[:len(words)+2], code, out.String(), errs.String())
				}
			}
		}
	}
}

// TestErrorOfAnError checks that ledgerctl does not request a class again and again if an
// error message needs the class and the error for that request needs it too.
func TestErrorOfAnError(t *testing.T) {
	short := hostileStatus(400, `{"error":{"code":"InsufficientBalance","message":"Container 1 has 1.","details":{"class_id":1,"available":1,"requested":2}}}`)
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > 50 {
			w.WriteHeader(http.StatusNotFound) // ends an endless series of requests
			return
		}
		short(w, r)
	}))
	defer server.Close()
	var out, errs bytes.Buffer
	code := Main([]string{"read", "balances", "1", "-timeout", "100ms", "-read-url", server.URL}, strings.NewReader(""), &out, &errs, noEnv)
	if n := asked.Load(); code != exitRefused || n > 5 {
		t.Errorf("exit code %d after %d requests, want %d after at most 5: %s", code, n, exitRefused, errs.String())
	}
}

// hostileRun runs ledgerctl as if on a terminal: with each format or, in the short form,
// with the one that the parameter turn selects.
func hostileRun(t *testing.T, dir, base string, words []string, name string, turn int) {
	cmd, _, _ := resolve(commands, words)
	timeout := "100ms"
	if name == "endless" || name == "silence" {
		timeout = "20ms" // each command waits that long
	}
	formats := []string{"table", "json", "csv"}
	if !cmd.List {
		formats = formats[:2]
	}
	if !longtest.Form(t, "each response with all of the formats table, json and csv, instead of one") {
		formats = formats[turn%len(formats):][:1]
	}
	for _, format := range formats {
		args := append(append([]string{}, words...), "-o", format, "-timeout", timeout, "-write-url", base, "-read-url", base)
		for i, a := range args {
			if a == "lines" || a == "whole" {
				args[i] = filepath.Join(dir, a)
			}
		}
		var out, errs bytes.Buffer
		c := &call{ctx: t.Context(), in: strings.NewReader(""), out: bufio.NewWriter(&out), words: &errs, table: commands,
			screen: screen{terminal: true, width: 80}}
		err := c.run(args, noEnv)
		c.out.Flush()
		code := tell(&errs, err)
		shown := strings.NewReplacer("\r", "", "\x1b[K", "").Replace(out.String() + errs.String()) // the progress line
		if strings.ContainsFunc(shown, func(r rune) bool { return r != '\n' && r != '\t' && unprintable(r) }) || !utf8.ValidString(shown) {
			t.Errorf("%q shows control characters or invalid UTF-8: %q", args, shown)
		}
		if code != exitDone && errs.Len() == 0 {
			t.Errorf("%q exits with %d and reports nothing", args, code)
		}
		commits := words[0] == "commit" || words[0] == "register"
		if known := code == exitDone && strings.Contains(shown, "global_seq") || strings.Contains(shown, "it is unknown whether"); commits && name != "error, code 7" && !known {
			t.Errorf("%q exits with %d, and does not report whether it was committed: %q", args, code, shown)
		}
	}
}

// TestFullOutput checks that commands fail with a message if standard output is full, and
// name the commit if they made one.
func TestFullOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("NOT TESTED: a full standard output; needs /dev/full:", err)
	}
	defer full.Close()
	x := startDaemons(t, t.TempDir())
	run := func(words ...string) (int, string) {
		var errs bytes.Buffer
		code := Main(append(words, "-write-url", x.writeURL, "-read-url", x.readURL), strings.NewReader("{\"operations\":[]}\n"), full, &errs, noEnv)
		return code, errs.String()
	}
	for i, words := range [][]string{
		{"register", "class", "7", "x"}, {"register", "shape", "7", "1x1"}, {"commit", "-op", "CreateContainer container_id=1 kind=Standard"},
		{"commit", "-o", "json", "-op", "CreateContainer container_id=2 kind=Grid"}, {"create", "a"}, {"add", "a", "5", "7"}, {"hold", "1", "a", "2", "7"},
	} {
		code, errs := run(words...)
		if want := "global_seq is " + string(rune('1'+i)) + ";"; code != exitFailure || !strings.Contains(errs, want) {
			t.Errorf("%q: exit code %d, %q, want %d, %q", words, code, errs, exitFailure, want)
		}
	}
	if code, errs := run("batch", "-f", "-"); code != exitFailure || !strings.Contains(errs, "have a result: 0 committed and 1 failed") {
		t.Errorf("batch: exit code %d, want %d and the counts of results: %q", code, exitFailure, errs)
	}
	for _, words := range [][]string{
		{"export"}, {"watch", "-after", "0"}, {"metrics"}, {"health"}, {"help"}, {"version"}, {"freshness"}, {"completion", "bash"},
		{"read", "container", "1"}, {"read", "balances", "1"}, {"read", "grid", "2"}, {"read", "class", "7"}, {"read", "classes", "-all"}, {"read", "shapes", "7"},
		{"read", "stats", "7"}, {"read", "freshness"}, {"read", "containers"}, {"read", "commit", "1"}, {"read", "commits", "-all"},
		{"read", "holders", "7"}, {"read", "containers", "-o", "csv"}, {"statement", "a", "-class", "7", "-o", "csv"}, {"watch", "-container", "a", "-after", "0", "-count", "1"},
		{"bench", "-yes", "-clean", "-containers", "2", "-clients", "1", "-duration", "10ms"}, {"add", "a", "5", "7", "-dry-run"}, {"history", "a"}, {"history", "a", "-o", "csv"}, {"statement", "a", "-class", "7"}, {"read", "container", "a"}, {"read", "holds", "a"}, {"read", "hold", "1"},
	} {
		if code, errs := run(words...); code != exitFailure || !strings.Contains(errs, "no space left") {
			t.Errorf("%q: exit code %d, want %d and no space left: %q", words, code, exitFailure, errs)
		}
	}
	// Changes to a log are reported anyway, because they can't be repeated.
	dir := t.TempDir()
	makeLog(t, dir, 64<<10, containers(t, 3, 1))
	for _, format := range []string{"table", "json"} {
		if err := wal.MarkCopy(dir, "http://other", wal.Options{}); err != nil {
			t.Fatal(err)
		}
		if code, errs := run("log", "detach", "-dir", dir, "-accept-loss", "-o", format); code != exitFailure || !strings.Contains(errs, "is independent after commit 3") {
			t.Errorf("log detach: exit code %d, want %d and a report of the detached copy: %q", code, exitFailure, errs)
		}
	}
}

// TestPageOfAnotherServer checks that a web page is not accepted as a response, and that
// the error is reported once.
func TestPageOfAnotherServer(t *testing.T) {
	page := httptest.NewServer(says("text/html", "<html></html>"))
	defer page.Close()
	for _, command := range []string{"metrics", "metrics -read", "export", "freshness", "freshness -min-seq 1 -wait 1s", "watch"} {
		code, out, errs := runs(noEnv, append(strings.Fields(command), "-write-url", page.URL, "-read-url", page.URL)...)
		if code != exitFailure || out != "" || strings.Count(errs, "is not from a ledger") != 1 {
			t.Errorf("ledgerctl %s: exit code %d, want %d, no output, and one error about another server: %q %q", command, code, exitFailure, out, errs)
		}
	}
}
