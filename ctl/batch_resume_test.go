package ctl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assetledger/ledger"
	"assetledger/server/writer"
)

// TestResumeWithFewKeys checks that a file with more lines than the number of keys that the
// ledger remembers is committed once, however its runs end. Failed lines are sent again, and a file whose
// lines have changed is rejected.
func TestResumeWithFewKeys(t *testing.T) {
	t.Chdir(t.TempDir())
	x := tool{t, startDaemonsWith(t, t.TempDir(), func(c *writer.Config) { c.IdempotencyKeys = 100 })}
	x.must(exitDone, flowWorld, "batch", "-")
	const lines = 20_700
	text := make([]string, lines)
	for i := range text {
		text[i] = transferLine(i)
	}
	wrong := strings.Replace(text[0], `"quantity":1`, `"quantity":1000001`, 1)
	good := text[20_000]
	text[1], text[2], text[20_000] = wrong, "x", wrong
	run := func(code int, balance string, args ...string) (words string) {
		t.Helper()
		if err := os.WriteFile("work", []byte(strings.Join(text, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		got, _, words := x.run("", append([]string{"batch", "work", "-resume", "-o", "ndjson"}, args...)...)
		if got != code {
			t.Errorf("exit code %d, want %d: %s", got, code, words)
		}
		x.must(exitDone, "", "freshness", "-min-seq", x.endSeq(), "-wait", "30s")
		if held := x.must(exitDone, "", "read", "balances", "2", "-o", "json"); !strings.Contains(held, balance) {
			t.Errorf("container 2 must hold %s: %s", balance, held)
		}
		return words
	}
	for range 2 {
		run(exitRefused, `"quantity":20697`)
	}
	text[1], text[2] = good, good
	run(exitRefused, `"quantity":20699`, "-on-error", "stop")
	run(exitRefused, `"quantity":20699`)
	text[20_000] = good
	text = append(text, good)
	for range 2 {
		run(exitDone, `"quantity":20701`)
	}
	text[17] = good
	if words := run(exitUsage, `"quantity":20701`); !strings.Contains(words, "lines 1 to 20701 of work differ from those that earlier runs committed") {
		t.Errorf("the error must say which committed lines differ: %s", words)
	}
	text = text[:600]
	run(exitUsage, `"quantity":20701`)
}

// A resuming is a batch of lines in the file "work", whose content may change between runs.
type resuming struct {
	tool
	lines []string
	body  bool // the file is the body of a batch request
}

// newResuming returns a batch of n lines, of which the fourth is rejected. Each of the others moves as many units as its
// number.
func newResuming(t *testing.T, n int, with func(*writer.Config)) *resuming {
	t.Chdir(t.TempDir())
	if with == nil {
		with = func(*writer.Config) {}
	}
	r := &resuming{tool: tool{t, startDaemonsWith(t, t.TempDir(), with)}}
	r.must(exitDone, flowWorld, "batch", "-")
	for i := range n {
		r.lines = append(r.lines, move(i+1))
	}
	r.lines[3] = move(1_000_001)
	return r
}

func move(n int) string {
	return strings.Replace(transferLine(0), `"quantity":1`, fmt.Sprintf(`"quantity":%d`, n), 1)
}

func (r *resuming) write(lines []string) {
	text := strings.Join(lines, "\n")
	if r.body {
		text = fmt.Sprintf(`{"transactions":[%s]}`, strings.Join(lines, ","))
	}
	if err := os.WriteFile("work", []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// run runs the batch, and checks the exit code, the error, and how many units have been moved in all.
func (r *resuming) run(lines []string, code int, want string, moved int, args ...string) {
	r.t.Helper()
	r.write(lines)
	got, _, words := r.tool.run("", append([]string{"batch", "work", "-resume", "-o", "ndjson"}, args...)...)
	if got != code || !strings.Contains(words, want) {
		r.t.Errorf("exit code %d, want %d and %q: %s", got, code, want, words)
	}
	r.must(exitDone, "", "freshness", "-min-seq", r.endSeq(), "-wait", "30s")
	if held := r.must(exitDone, "", "read", "balances", "2", "-o", "json"); !strings.Contains(held, fmt.Sprintf(`"quantity":%d}`, moved)) {
		r.t.Errorf("container 2 must hold %d: %s", moved, held)
	}
}

// kill runs the batch in a process, and kills it after some results.
func (r *resuming) kill(lines []string) {
	r.write(lines)
	cmd := exec.Command(os.Args[0], "batch", "work", "-resume", "-o", "ndjson", "-write-url", r.daemons.writeURL)
	cmd.Env = append(cmd.Environ(), asProgram+"=1")
	out := must(cmd.StdoutPipe()) // not read further, so that the batch can't end
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 100_000)); err != nil {
		r.t.Errorf("reading the first results: %v", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
}

func sumTo(n int) int { return n * (n + 1) / 2 }

// TestResumeRejectsMovedLines checks that nothing is sent if committed lines of the file have moved or changed, and that
// the file is then accepted with its rejected line corrected in its place.
func TestResumeRejectsMovedLines(t *testing.T) {
	for _, c := range []struct {
		lines int
		body  bool
	}{{10, false}, {10, true}, {2*resumeStep + 7, false}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			r := newResuming(t, c.lines, nil)
			r.body = c.body
			moved := sumTo(c.lines) - 4
			r.run(r.lines, exitRefused, "1 of ", moved)
			before := slices.Clip(r.lines[:3])
			for _, changed := range [][]string{
				append(before, r.lines[4:]...),                               // without the rejected line
				append(before, append([]string{move(4)}, r.lines[5:]...)...), // without a committed one
				append([]string{move(4)}, r.lines...),
				append(before, append([]string{move(4), move(6)}, r.lines[5:]...)...),
				r.lines[:5],
			} {
				r.run(changed, exitUsage, fmt.Sprintf("lines 1 to %d of work differ from those that earlier runs committed", c.lines), moved)
			}
			r.lines[3] = move(4)
			r.run(append(r.lines, move(1)), exitDone, "", moved+5)
			r.run(append(r.lines, move(1)), exitDone, "", moved+5)
		})
	}
}

// TestResumeAfterKill checks that a batch that was killed is completed, with each line committed once, even if the ledger
// remembers few keys. A file that has since been changed is rejected, as long as it is not known which lines were committed.
func TestResumeAfterKill(t *testing.T) {
	const lines = 5000
	r := newResuming(t, lines, func(c *writer.Config) { c.IdempotencyKeys = 2*resumeStep + 100 })
	for i := range r.lines {
		r.lines[i] = transferLine(i)
	}
	r.lines[3] = move(1_000_001)
	r.kill(r.lines)
	note := must(os.ReadFile("work.resume"))
	code, _, words := 0, "", ""
	r.write(append(slices.Clip(r.lines[:3]), r.lines[4:]...))
	if code, _, words = r.tool.run("", "batch", "work", "-resume"); code != exitUsage || !strings.Contains(words, "of work may have been committed by a run that was cut off, and differ") &&
		!strings.Contains(words, "differ from those that earlier runs committed") {
		t.Errorf("exit code %d, want %d and which lines differ: %s", code, exitUsage, words)
	}
	if kept := must(os.ReadFile("work.resume")); !bytes.Equal(kept, note) || !bytes.Contains(note, []byte(`"open":`)) {
		t.Errorf("the note must have open lines and stay as it was\n%s, and is\n%s", note, kept)
	}
	for range 3 {
		r.kill(r.lines)
	}
	r.run(r.lines, exitRefused, "1 of 5000 transactions failed", lines-1)
	r.lines[3] = transferLine(3)
	r.run(r.lines, exitDone, "", lines)
}

// TestResumeAfterKeysAreForgotten checks that lines of a killed batch are not sent again if the ledger may have forgotten that they were committed.
func TestResumeAfterKeysAreForgotten(t *testing.T) {
	r := newResuming(t, 5000, func(c *writer.Config) { c.IdempotencyKeys = 100 })
	for i := range r.lines {
		r.lines[i] = transferLine(i)
	}
	r.kill(r.lines)
	r.must(exitDone, strings.Repeat(transferLine(0)+"\n", 101), "batch", "-", "-resume", "-name", "other")
	if code, out, words := r.tool.run("", "batch", "work", "-resume"); code != exitFailure || out != "" || !strings.Contains(words, "the ledger no longer remembers the key of commit ") {
		t.Errorf("exit code %d, want %d, no output, and that the key is forgotten: %s%s", code, exitFailure, out, words)
	}
}

// TestStoppedRunSavesItsPosition checks that a run saves its position when a signal stops
// it. The run is a separate process, because a second signal would end the test process.
func TestStoppedRunSavesItsPosition(t *testing.T) {
	x := tool{t, startDaemons(t, t.TempDir())}
	x.must(exitDone, flowWorld, "batch", "-")
	cmd := exec.Command(os.Args[0], "batch", "-", "-resume", "-name", "x", "-o", "ndjson", "-write-url", x.daemons.writeURL)
	cmd.Dir = t.TempDir()
	cmd.Env = append(cmd.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=0")
	var words strings.Builder
	cmd.Stderr = &words
	give, out := must(cmd.StdinPipe()), must(cmd.StdoutPipe())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(give, strings.Repeat(transferLine(0)+"\n", 7)) // the pipe stays open
	results := bufio.NewScanner(out)
	for n := 0; n < 7 && results.Scan(); n++ {
	}
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(words.String(), "lines 1 to 7 have a result") {
		t.Errorf("exit code %d, want 130 and 7 lines with a result: %s", code, &words)
	}
	if note, err := os.ReadFile(filepath.Join(cmd.Dir, "x.resume")); !bytes.Contains(note, []byte(`"answered":7,`)) || bytes.Contains(note, []byte(`"open"`)) {
		t.Errorf("the note must have 7 answered lines and none open, and is %s (%v)", note, err)
	}
}

// TestResumeNote checks that notes that are damaged, belong to another ledger or have another name are rejected before a line is sent.
func TestResumeNote(t *testing.T) {
	r := newResuming(t, 10, nil)
	r.run(r.lines, exitRefused, "", sumTo(10)-4)
	text := must(os.ReadFile("work.resume"))
	for want, change := range map[string]func(n *resumeNote){
		"work.resume is damaged":                         func(n *resumeNote) { n.Proof = resumeProof{} },
		"work.resume is damaged, ":                       func(n *resumeNote) { n.Proof.Key = "" },
		"work.resume is damaged, or ":                    func(n *resumeNote) { *n = resumeNote{} },
		"work.resume belongs to a batch named v":         func(n *resumeNote) { n.Name = "v" },
		"whose commit 12 had the key batch:work:1: ":     func(n *resumeNote) { n.Proof.Key = "batch:work:1" },
		"whose commit 12 had the key batch:work:11: ":    func(n *resumeNote) { n.Proof.Key = "batch:work:11" },
		"another ledger, whose commit 13 had the key b":  func(n *resumeNote) { n.Proof.GlobalSeq = 13 },
		"another ledger, whose commit 13 had the key x:": func(n *resumeNote) { n.Proof = resumeProof{13, "x"} },
	} {
		var note resumeNote
		json.Unmarshal(text, &note)
		change(&note)
		os.WriteFile("work.resume", must(json.Marshal(note)), 0o600)
		r.run(r.lines, exitFailure, want, sumTo(10)-4)
	}
	os.WriteFile("work.resume", text, 0o600)
	r.run(r.lines, exitRefused, "1 of 10", sumTo(10)-4, "-read-url", "http://127.0.0.1:1") // not needed while the key is remembered
	other := tool{t, startDaemons(t, t.TempDir())}
	other.must(exitDone, flowWorld, "batch", "-")
	want := "work.resume belongs to another ledger, whose commit 12 had the key batch:work:10"
	r.run(r.lines, exitFailure, want, sumTo(10)-4, "-write-url", other.daemons.writeURL)
	for range 12 {
		other.must(exitDone, move(1)+"\n", "batch", "-")
	}
	r.run(r.lines, exitUsage, "belong to different ledgers", sumTo(10)-4, "-write-url", other.daemons.writeURL)
	r.run(r.lines, exitFailure, want, sumTo(10)-4, "-write-url", other.daemons.writeURL, "-read-url", other.daemons.readURL)
}

// TestResumeNoteFile checks that a position that can't be read or saved ends the run before it sends a line.
func TestResumeNoteFile(t *testing.T) {
	r := newResuming(t, 10, nil)
	for _, c := range []struct {
		make func() error
		want string
	}{
		{func() error { return os.Symlink("/dev/full", "work.resume") }, "work.resume is larger than"},
		{func() error { return os.Mkdir("work.resume", 0o700) }, "cannot read work.resume"},
		{func() error { return os.WriteFile("work.resume", nil, 0o600) }, "work.resume is empty"},
	} {
		if err := c.make(); err != nil {
			t.Fatal(err)
		}
		r.write(r.lines)
		if code, _, words := r.tool.run("", "batch", "work", "-resume"); code == exitDone || !strings.Contains(words, "nothing was sent, because the position of the batch can't be read: "+c.want) {
			t.Errorf("exit code %d, want a failure because %s: %s", code, c.want, words)
		}
		os.Remove("work.resume")
	}
	long := strings.Repeat("n", 100)
	r.write(r.lines)
	text := strings.Join(r.lines, "\n")
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir("folder")
	if err := os.Remove("../folder"); err != nil { // nothing can be written to it
		t.Fatal(err)
	}
	code, _, words := r.tool.run(text, "batch", "-", "-resume", "-name", long)
	if code != exitFailure || !strings.Contains(words, "cannot save the position of the batch") || !strings.HasSuffix(words, "; no line was executed\n") || strings.Count(words, "cannot") != 1 {
		t.Errorf("exit code %d, want %d and one reason why the position can't be saved: %s", code, exitFailure, words)
	}
	if end := r.endSeq(); end != "3" {
		t.Errorf("the ledger has %s commits, want 3", end)
	}
}

// TestResumeBehind checks that the error for a read daemon that lacks the last commit says so.
func TestResumeBehind(t *testing.T) {
	r := newResuming(t, 10, func(c *writer.Config) { c.IdempotencyKeys = 1 })
	r.run(r.lines, exitRefused, "", sumTo(10)-4)
	r.must(exitDone, "", "create", "other", "-key", "other")
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooEarly)
		io.WriteString(w, `{"error":{"code":"NotFresh","message":"It is not there.","details":{"checkpoint_seq":7,"commit_log_seq":7}}}`)
	}))
	defer behind.Close()
	r.run(r.lines, exitStale, "NotFresh: It is not there", sumTo(10)-4, "-read-url", behind.URL)
	r.run(r.lines, exitRefused, "1 of 10", sumTo(10)-4)
}

// TestResumeProofUnreadable checks that a note whose commit can't be read, because the token lacks the required scope or the commit is archived, ends the run before it sends a line.
func TestResumeProofUnreadable(t *testing.T) {
	t.Chdir(t.TempDir())
	const note = `{"name":"w","answered":501,"failed":[],"sum":0,"proof":{"global_seq":1,"key":"batch:w:501"}}`
	if err := os.WriteFile("w", []byte(transferLine(1)), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(want string, run func(words ...string) (int, string, string)) {
		t.Helper()
		if err := os.WriteFile("w.resume", []byte(note), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, words := run("batch", "w", "-resume")
		if code != exitRefused || out != "" || !strings.Contains(words, "nothing was sent, because w.resume can't be checked: "+want) {
			t.Errorf("exit code %d, want %d and %q\n%s%s", code, exitRefused, want, out, words)
		}
		if kept := must(os.ReadFile("w.resume")); string(kept) != note {
			t.Errorf("the note must stay as it was, and is %s", kept)
		}
	}
	as := gated(t, map[string][]string{"shop": {"-scopes", "commit"}})
	if code, _, words := as("shop", "create", "7"); code != exitDone {
		t.Fatal(words)
	}
	check("Forbidden: ", func(words ...string) (int, string, string) { return as("shop", words...) })
	x := tool{t, startDaemons(t, archivedLog(t))}
	check("CommitArchived: ", func(words ...string) (int, string, string) { return x.run("", words...) })
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestKeyName(t *testing.T) {
	for name, same := range map[string]bool{"day-7.ndjson": true, "with space": false, `q"`: false, "é": false, strings.Repeat("x", 101): false} {
		if got := keyName(name); (got == name) != same || !ledger.ValidIdempotencyKey("batch:"+got+":9223372036854775807") || got != keyName(name) {
			t.Errorf("keyName(%q) = %q, want a valid key that it leaves as it is, equal to the name: %t", name, got, same)
		}
	}
}
