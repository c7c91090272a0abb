package systemtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"assetledger/ledger"
	"assetledger/wal"
)

const formats = "../../testdata/formats"

// TestOldLogs opens every log in testdata/formats with the current daemons. Each log
// was written by the first version that wrote its format.
func TestOldLogs(t *testing.T) {
	t.Parallel()
	logs, err := filepath.Glob(filepath.Join(formats, "v*", "*"))
	if err != nil || len(logs) < 4 {
		t.Fatalf("found only %d logs, want at least 4: %v", len(logs), err)
	}
	for _, home := range logs {
		t.Run(strings.TrimPrefix(home, formats+"/"), func(t *testing.T) {
			t.Parallel()
			old := readOldLog(t, home)
			t.Run("checkpoints", old.checkCheckpoints)
			t.Run("bytes", old.checkBytes)
			t.Run("read daemon", func(t *testing.T) { old.checkAnswers(t, startReader(t, old.copyTo(t))) })
			t.Run("both daemons", old.checkBoth)
			t.Run("verify", old.checkVerify)
			if old.begins == 1 {
				t.Run("without its checkpoints", func(t *testing.T) {
					dir := old.copyTo(t)
					if err := os.RemoveAll(filepath.Join(dir, "ckpt")); err != nil {
						t.Fatal(err)
					}
					startWriter(t, dir)
					old.checkAnswers(t, startReader(t, dir))
				})
			}
		})
	}
}

// An oldLog is a log of an earlier version, with its expected contents.
type oldLog struct {
	dir       string
	digests   map[uint64]string // of the state after a commit
	questions [][2]string       // a path, and the response of the version that wrote the log
	begins    uint64            // first commit that was not archived
	ends      uint64
}

func readOldLog(t *testing.T, home string) *oldLog {
	t.Helper()
	old := &oldLog{dir: filepath.Join(home, "log"), digests: map[uint64]string{}, begins: 1}
	text, err := os.ReadFile(filepath.Join(home, "expected.txt"))
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(strings.NewReader(string(text)))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var seq uint64
		var digest string
		if n, _ := fmt.Sscanf(in.Text(), "digest %d %s", &seq, &digest); n == 2 {
			old.digests[seq], old.ends = digest, seq
			continue
		}
		path, ok := strings.CutPrefix(in.Text(), "GET ")
		if !ok || !in.Scan() {
			t.Fatalf("expected.txt has %q, want a digest, or GET with a response", in.Text())
		}
		old.questions = append(old.questions, [2]string{path, in.Text()})
		if strings.Contains(in.Text(), `"code":"CommitArchived"`) {
			fmt.Sscanf(path, "/v1/read/commit/%d", &old.begins)
			old.begins++
		}
	}
	if len(old.questions) < 3 {
		t.Fatalf("expected.txt has only %d reads, want at least 3", len(old.questions))
	}
	return old
}

// copyTo copies the log to a directory that daemons may write to.
func (old *oldLog) copyTo(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "log")
	if err := os.CopyFS(dir, os.DirFS(old.dir)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// checkCheckpoints reads each checkpoint, and compares the digest of its state.
func (old *oldLog) checkCheckpoints(t *testing.T) {
	dir := old.copyTo(t)
	seqs, err := wal.ListCheckpoints(dir, wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, seq := range seqs {
		f, err := wal.OpenCheckpoint(dir, seq, wal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		state, info, err := ledger.ReadCheckpoint(f, ledger.Config{IdempotencyKeys: 1_000_000})
		f.Close()
		if err != nil {
			t.Errorf("the checkpoint at %d: %v", seq, err)
			continue
		}
		digest := fmt.Sprintf("%016x", state.Digest())
		if want, ok := old.digests[seq]; state.Seq() != seq || info.Seq != seq || ok && digest != want || !ok && seq >= old.begins {
			t.Errorf("the checkpoint at %d leads to the digest %s at %d, want %s", seq, digest, state.Seq(), want)
		}
	}
	if len(seqs) == 0 && old.begins > 1 {
		t.Error("a log without a beginning needs checkpoints")
	}
}

// checkBytes executes the records again. The new records and checkpoints must have
// the same bytes as the old ones. Records of version 1 lack the facts that are stored
// now, so they are compared with new records without facts.
func (old *oldLog) checkBytes(t *testing.T) {
	dir := old.copyTo(t)
	seqs, err := wal.ListCheckpoints(dir, wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := ledger.Config{IdempotencyKeys: 1_000_000}
	state, written := ledger.NewState(cfg), map[uint64][]byte{}
	for i, seq := range seqs {
		if written[seq], err = os.ReadFile(filepath.Join(old.dir, "ckpt", fmt.Sprintf("%020d.ckpt", seq))); err != nil {
			t.Fatal(err)
		}
		if i == 0 && old.begins > 1 {
			if state, _, err = ledger.ReadCheckpoint(bytes.NewReader(written[seq]), cfg); err != nil {
				t.Fatal(err)
			}
		}
	}
	checkpoints := 0
	_, err = wal.Verify(dir, wal.VerifyOptions{OnFrame: func(f *wal.FrameInfo) error {
		if f.Seal || f.Frame.Last() <= state.Seq() {
			return nil
		}
		if err := f.Frame.Each(func(seq uint64, b []byte) error { return again(state, &f.Frame, seq, b) }); err != nil {
			return err
		}
		want, ok := written[f.Frame.Last()]
		if !ok {
			return nil
		}
		checkpoints++
		_, info, err := ledger.ReadCheckpoint(bytes.NewReader(want), cfg)
		var got bytes.Buffer
		if err := errors.Join(err, state.WriteCheckpoint(&got, info.CheckpointPlace)); err != nil {
			return err
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("the checkpoint at %d differs", info.Seq)
		}
		return nil
	}})
	if err != nil || state.Seq() != old.ends || checkpoints == 0 && len(seqs) > 0 {
		t.Errorf("executed up to commit %d of %d, with %d of %d checkpoints compared: %v", state.Seq(), old.ends, checkpoints, len(seqs), err)
	}
}

// again executes a record of the log once more, and compares the result.
func again(state *ledger.State, f *wal.Frame, seq uint64, b []byte) error {
	var rec ledger.Record
	if err := rec.Decode(b); err != nil {
		return err
	}
	var out ledger.Outcome
	if err := state.Apply(&rec.Tx, f.Time, &out); err != nil {
		return err
	}
	state.Remember(&rec.Tx, &out, seq, uint32(seq-f.First+1))
	if b[0] == 1 {
		out.Facts = nil
	}
	if got := ledger.AppendRecord(nil, &rec.Tx, &out); !bytes.Equal(got, b) {
		return fmt.Errorf("commit %d is %x, but was %x", seq, got, b)
	}
	return nil
}

// checkAnswers repeats all reads, and compares the responses with the recorded ones.
func (old *oldLog) checkAnswers(t *testing.T, d *daemon) {
	t.Helper()
	for _, q := range old.questions {
		a, err := get(http.DefaultClient, d.url+q[0])
		if err != nil {
			t.Fatal(err)
		}
		var was, is any
		if err := json.Unmarshal([]byte(q[1]), &was); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(a.body), &is); err != nil || !includes(is, was) {
			t.Errorf("GET %s\nwas %s\nis  %s (%v)", q[0], q[1], a.body, err)
		}
	}
}

// includes reports whether a current response includes everything in an old one.
// Later versions may report more, but must not contradict earlier ones.
func includes(is, was any) bool {
	switch was := was.(type) {
	case map[string]any:
		is, ok := is.(map[string]any)
		for name, value := range was {
			if name == "message" { // messages for people may change
				continue
			}
			if got, there := is[name]; !ok || !there || !includes(got, value) {
				return false
			}
		}
		return ok
	case []any:
		is, ok := is.([]any)
		if !ok || len(is) != len(was) {
			return false
		}
		for i := range was {
			if !includes(is[i], was[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(is, was)
}

// checkBoth continues the log. Idempotency keys must still be remembered, and
// new commits must follow the old ones.
func (old *oldLog) checkBoth(t *testing.T) {
	dir := old.copyTo(t)
	w := startWriter(t, dir)
	r := startReader(t, dir)
	old.checkAnswers(t, r)
	if old.ends > 0 {
		first := lines(t, filepath.Join(warehouse, "transactions.ndjson"))[0]
		if a, err := post(http.DefaultClient, w.url+"/v1/commit", first); err != nil || !a.hit || seqOf(a.body) != "1" {
			t.Errorf("the key of the first commit: %v %d %s", err, a.status, a.body)
		}
	}
	tx := `{"operations":[{"op":"CreateContainer","args":{"container_id":987654321,"kind":"Standard"}}]}`
	if a, err := post(http.DefaultClient, w.url+"/v1/commit", tx); err != nil || seqOf(a.body) != fmt.Sprint(old.ends+1) {
		t.Errorf("a new commit after %d: %v %d %s", old.ends, err, a.status, a.body)
	}
	a, err := get(http.DefaultClient, fmt.Sprintf("%s/v1/read/container/987654321?wait=20s&min_seq=%d", r.url, old.ends+1))
	if err != nil || a.status != 200 {
		t.Errorf("reading the new container: %v %d %s, want 200", err, a.status, a.body)
	}
	w.stop()
	r.stop()
	startWriter(t, dir) // on the log that both versions wrote
}

// checkVerify compares the digests in the log with the expected ones, and runs
// ledgerctl wal verify.
func (old *oldLog) checkVerify(t *testing.T) {
	dir := old.copyTo(t)
	frames := 0
	_, err := wal.Verify(dir, wal.VerifyOptions{OnFrame: func(f *wal.FrameInfo) error {
		if f.Frame.Count > 0 {
			frames++
			if got := fmt.Sprintf("%016x", f.Frame.Digest); got != old.digests[f.Frame.Last()] {
				t.Errorf("the frame up to %d has the digest %s, want %s", f.Frame.Last(), got, old.digests[f.Frame.Last()])
			}
		}
		return nil
	}})
	if err != nil || frames != len(old.digests) {
		t.Errorf("%d frames, want %d: %v", frames, len(old.digests), err)
	}
	if code, _, words := runProgram(t, "ledgerctl", "wal", "verify", "-dir", dir); code != 0 {
		t.Errorf("ledgerctl wal verify: exit code %d\n%s", code, words)
	}
}

// TestOldLogsCanBeMade runs the generator of testdata/formats, and compares each new
// log with the recorded one: the number of reads, the last commit, and the digest
// after that commit. Times and batches may differ.
func TestOldLogsCanBeMade(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	folder := filepath.Join(t.TempDir(), "v")
	cmd := exec.Command("go", "run", "./testdata/formats/gen", folder)
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the generator failed: %v\n%s", err, out)
	}
	for _, path := range []string{"v1/empty", "v1/warehouse", "v1/archived", "v1/torn", "v2/part2"} {
		name := filepath.Base(path)
		was, is := readOldLog(t, filepath.Join(formats, path)), readOldLog(t, filepath.Join(folder, name))
		if len(was.questions) != len(is.questions) || was.ends != is.ends {
			t.Errorf("%s: %d questions and %d commits, but %d and %d when it was recorded", name, len(is.questions), is.ends, len(was.questions), was.ends)
		}
		if is.digests[is.ends] != was.digests[was.ends] {
			t.Errorf("%s: equal transactions gave the digest %s, but now give %s", name, was.digests[was.ends], is.digests[is.ends])
		}
		is.checkVerify(t)
	}
}
