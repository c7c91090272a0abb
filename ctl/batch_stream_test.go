package ctl

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestBatchOverStreams checks the results of lines if a stream runs to its end, and if it ends
// early in various ways.
func TestBatchOverStreams(t *testing.T) {
	const (
		refusal  = `{"error":{"code":"GridFull","message":"It is full.","details":{}}}`
		stopping = `{"error":{"code":"ShuttingDown","message":"The daemon is stopping.","details":{"lines_answered":1}}}`
		tooLong  = `{"error":{"code":"PayloadTooLarge","message":"A line is too long.","details":{}}}`
		busy     = `{"error":{"code":"ShuttingDown","message":"Nothing was done.","details":{}}}`
		deposed  = `{"error":{"code":"NotTheWriter","message":"Nothing was done.","details":{}}}`
		noLog    = `{"error":{"code":"LogUnavailable","message":"It is unknown.","details":{}}}`
		untried  = `{"error":{"code":"NotAttempted","message":"An earlier one failed.","details":{}}}`
		revoked  = `{"error":{"code":"Unauthorized","message":"The token is not known.","details":{"reason":"unknown","lines_answered":1}}}`
	)
	stopping2 := strings.Replace(stopping, ":1}", ":2}", 1)
	keys := []string{"-resume", "-name", "x"}
	all := []string{`"line":1,"global_seq":1`, `"line":2,"global_seq":2`, `"line":3,"global_seq":3`}
	for _, c := range []struct {
		name    string
		args    []string
		streams [][]string // results of each stream; "" commits, "cut" cuts the connection, "end" ends the response
		code    int
		stdout  []string
		stderr  string
	}{
		{"all", nil, [][]string{{"", "", ""}}, exitDone, all, ""},
		{"a rejection", nil, [][]string{{"", refusal, ""}}, exitRefused, []string{`"line":2,"error"`, `"line":3,"global_seq":2`}, "1 of 3 transactions failed"},
		{"stop", []string{"-on-error", "stop"}, [][]string{{"", refusal, "end"}}, exitRefused, []string{`"line":2,"error":{"code":"GridFull"`, `"line":3,"error":{"code":"NotAttempted"`}, "1 of 3 transactions failed, and 1 after it not tried"},
		{"cut, with keys", keys, [][]string{{"", "cut"}, {"", ""}}, exitDone, all, ""},
		{"cut, without keys", nil, [][]string{{"", "cut"}}, exitSilent, []string{`"line":1,"global_seq":1`}, "1 committed and 0 failed before, and the outcome of lines 2 to 3 is unknown"},
		{"the daemon stops, with keys", keys, [][]string{{"", stopping, "end"}, {"", ""}}, exitDone, all, ""},
		{"the daemon stops, without keys", nil, [][]string{{"", stopping, "end"}, {"", ""}}, exitDone, all, "ShuttingDown: The daemon is stopping; retrying the lines that were not executed"},
		{"lines come while it stops", nil, [][]string{{"", busy, busy}, {"", ""}}, exitDone, all, ""},
		{"lines come while it stops, and it says so", nil, [][]string{{"", busy, stopping2, "end"}, {"", ""}}, exitDone, all, ""},
		{"lines come while it stops, with keys", keys, [][]string{{"", busy, stopping2, "end"}, {"", ""}}, exitDone, all, ""},
		{"another one writes", keys, [][]string{{deposed, deposed, deposed}, {busy, "end"}, {"", "", ""}}, exitDone, all, ""},
		{"a line behind one that is sent again has a key too", keys, [][]string{{"", busy, ""}, {"", ""}}, exitDone, []string{`"line":2,"global_seq":3`, `"line":3,"global_seq":4`}, ""},
		{"a line behind one that could be sent again has no key", nil, [][]string{{"", busy, ""}}, exitRefused, []string{`"line":2,"error":{"code":"ShuttingDown"`, `"line":3,"global_seq":2`}, "1 of 3 transactions failed"},
		{"it stops, and is cut", nil, [][]string{{"", busy, "cut"}}, exitSilent, []string{`"line":1,"global_seq":1`}, "1 committed and 0 failed before, and the outcome of line 3 is unknown"},
		{"it stops with -on-error stop", []string{"-on-error", "stop"}, [][]string{{"", busy, untried, "end"}, {"", ""}}, exitDone, all, ""},
		{"the log fails, with keys", keys, [][]string{{"", noLog, noLog}, {"", ""}}, exitDone, all, ""},
		{"the log fails, without keys", nil, [][]string{{"", noLog, ""}}, exitRefused, []string{`"line":2,"error":{"code":"LogUnavailable"`, `"line":3,"global_seq":2`}, "1 of 3 transactions failed"},
		{"a line too long", nil, [][]string{{"", tooLong, "end"}, {""}}, exitRefused, []string{`"line":2,"error":{"code":"PayloadTooLarge"`, `"line":3,"global_seq":2`}, "1 of 3"},
		{"the token is revoked", nil, [][]string{{"", revoked, "end"}}, exitRefused, []string{`"line":1,"global_seq":1`}, "Unauthorized"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			seq, asked := 0, 0
			daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked == len(c.streams) {
					t.Errorf("more than %d streams were opened", len(c.streams))
					panic(http.ErrAbortHandler)
				}
				results := c.streams[asked]
				asked++
				control := http.NewResponseController(w)
				control.EnableFullDuplex()
				defer control.SetReadDeadline(time.Unix(1, 0)) // don't wait for the rest of the body
				w.WriteHeader(200)
				control.Flush()
				lines := bufio.NewScanner(r.Body)
				for _, result := range results {
					if result == "end" {
						break
					}
					if !lines.Scan() {
						t.Errorf("stream %d has fewer lines than results %q", asked, results)
						break
					}
					if result == "cut" {
						control.SetReadDeadline(time.Unix(1, 0))
						panic(http.ErrAbortHandler)
					}
					if result == "" {
						seq++
						result = fmt.Sprintf(`{"global_seq":%d,"batch_seq":1,"minted_instances":[],"metadata":{}}`, seq)
					}
					io.WriteString(w, result+"\n")
					control.Flush()
				}
			}))
			input := strings.NewReader(strings.Repeat(`{"operations":[{"op":"RemoveContainer","args":{"container_id":1}}]}`+"\n", 3))
			var stdout, stderr bytes.Buffer
			args := append([]string{"batch", "-f", "-", "-o", "ndjson", "-write-url", daemon.URL}, c.args...)
			code := Main(args, input, &stdout, &stderr, func(string) (string, bool) { return "", false })
			daemon.CloseClientConnections()
			daemon.Close()
			if code != c.code || !strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("exit code %d, want %d; standard error %q, want %q", code, c.code, &stderr, c.stderr)
			}
			for _, want := range c.stdout {
				if !strings.Contains(stdout.String(), want) {
					t.Errorf("no %s in\n%s", want, &stdout)
				}
			}
			if asked != len(c.streams) {
				t.Errorf("%d streams, want %d", asked, len(c.streams))
			}
		})
	}
}
