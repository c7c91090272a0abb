package ctl

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"assetledger/ledger"
	"assetledger/wal"
)

// makeLog writes one frame for each batch of operations, with correct digests.
func makeLog(t *testing.T, dir string, segmentSize int64, batches [][]ledger.Op) {
	t.Helper()
	w, err := wal.Open(dir, wal.Options{SegmentSize: segmentSize})
	if err != nil {
		t.Fatal(err)
	}
	state := ledger.NewState(ledger.Config{})
	for _, batch := range batches {
		f := wal.Frame{First: state.Seq() + 1, Count: uint32(len(batch))}
		for i := range batch {
			tx, out := ledger.Transaction{Ops: batch[i : i+1]}, ledger.Outcome{}
			if err := state.Apply(&tx, 0, &out); err != nil {
				t.Fatal(err)
			}
			f.Body = wal.AppendRecord(f.Body, ledger.AppendRecord(nil, &tx, &out))
		}
		f.Digest = state.Digest()
		if err := w.Append(&f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLogCommandsSeeEveryCommit checks that the commands for a log read frames of different
// sizes, in several segments.
func TestLogCommandsSeeEveryCommit(t *testing.T) {
	dir, next, batches := t.TempDir(), int64(1), [][]ledger.Op(nil)
	for _, n := range []int{1, 1, 500, 1, 2000, 30, 2000, 2000, 1, 2000, 2000, 2000} {
		var batch []ledger.Op
		for range n {
			op, err := ledger.ParseOpWords(fmt.Sprintf("CreateContainer container_id=%d kind=Standard", next))
			if err != nil {
				t.Fatal(err)
			}
			batch = append(batch, op)
			next++
		}
		batches = append(batches, batch)
	}
	makeLog(t, dir, 64<<10, batches)
	last := strconv.FormatInt(next-1, 10)
	for _, c := range []struct {
		args  string
		lines int // 0: any
		want  string
	}{
		{"wal verify -o json", 1, `"commits":` + last + `,"frames":12,`},
		{"wal dump", int(next - 1), `{"global_seq":` + last + `,"batch_seq":2000,`},
		{"wal dump -from 500 -to 505", 6, `{"global_seq":505,"batch_seq":2,`},
		{"wal stat -o json", 0, `"last_seq":` + last + `,`},
	} {
		var stdout, stderr bytes.Buffer
		code := Main(append(strings.Fields(c.args), "-dir", dir), nil, &stdout, &stderr, func(string) (string, bool) { return "", false })
		lines := bytes.Count(stdout.Bytes(), []byte("\n"))
		if code != exitDone || c.lines != 0 && lines != c.lines || !strings.Contains(stdout.String(), c.want) || stderr.Len() != 0 {
			t.Errorf("%s: exit code %d, %d lines; want 0, %d lines (0: any) and %q; %s", c.args, code, lines, c.lines, c.want, &stderr)
		}
		if c.args == "wal stat -o json" && lines < 2 {
			t.Errorf("%d segment: the test needs several", lines)
		}
	}
}

// TestVerifyNamesNewerRecords checks that a record with an unknown operation is reported
// as made by a newer version, not as damage.
func TestVerifyNamesNewerRecords(t *testing.T) {
	dir := t.TempDir()
	w, err := wal.Open(dir, wal.Options{SegmentSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(&wal.Frame{First: 1, Count: 1, Body: wal.AppendRecord(nil, []byte{1, 0, 0, 1, byte(ledger.NumOpKinds), 1, 5})}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"wal verify", "wal dump"} {
		var stdout, stderr bytes.Buffer
		code := Main(append(strings.Fields(words), "-dir", dir), nil, &stdout, &stderr, func(string) (string, bool) { return "", false })
		if code != exitFailure || !strings.Contains(stderr.String(), "commit 1") || !strings.Contains(stderr.String(), "ledger: made by a newer version of this program; use that version") {
			t.Errorf("%s: exit code %d, want %d, commit 1 and that a newer version made it: %s%s", words, code, exitFailure, &stdout, &stderr)
		}
	}
}

// TestVerifyComparesWithReplay checks that verify replays the log: a log can be wrong although
// all checksums are correct.
func TestVerifyComparesWithReplay(t *testing.T) {
	add, err := ledger.ParseOpWords("AddFungible container_id=1 class_id=1 key=0 quantity=5")
	if err != nil {
		t.Fatal(err)
	}
	create, err := ledger.ParseOpWords("CreateContainer container_id=1 kind=Standard")
	if err != nil {
		t.Fatal(err)
	}
	record := func(op ledger.Op) []byte {
		return ledger.AppendRecord(nil, &ledger.Transaction{Ops: []ledger.Op{op}}, &ledger.Outcome{})
	}
	for _, c := range []struct {
		name, rule string
		record     []byte
		digest     uint64
		good       uint64 // the last valid commit
	}{
		{"digest", "replay", record(create), 1, 1},
		{"rejected by the state", "replay", record(add), 0, 0},
		{"no record", "replay", []byte{1}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			w, err := wal.Open(dir, wal.Options{SegmentSize: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Append(&wal.Frame{First: 1, Count: 1, Digest: c.digest, Body: wal.AppendRecord(nil, c.record)}); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			code := Main([]string{"wal", "verify", "-dir", dir}, nil, &stdout, &stderr, func(string) (string, bool) { return "", false })
			if code != exitDamaged || !bytes.Contains(stderr.Bytes(), []byte("("+c.rule+")")) || stdout.Len() != 0 {
				t.Errorf("exit code %d, want %d and the rule %s: %s%s", code, exitDamaged, c.rule, &stdout, &stderr)
			}
			err = (&logFlags{dir: dir}).verify(&call{words: &stderr})
			var damaged *wal.CorruptError
			if !errors.As(err, &damaged) || damaged.Seq != c.good || damaged.Offset != 4096 || !strings.HasSuffix(damaged.File, ".seg") {
				t.Errorf("got %#v, want damage in a segment at offset 4096 after commit %d", err, c.good)
			}
		})
	}
}
