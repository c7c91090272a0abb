package ctl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assetledger/ledger"
	"assetledger/wal"
)

// TestTargetIsTheLog checks that commands that write to another directory reject the log's
// own directory and those in it, with the exit code for wrong usage.
func TestTargetIsTheLog(t *testing.T) {
	dir := t.TempDir()
	makeLog(t, dir, 64<<10, containers(t, 3, 1))
	writeCheckpoints(t, dir, 1, 2)
	before := filesIn(t, dir)
	for _, args := range [][]string{
		{"backup", dir, dir}, {"backup", dir, filepath.Join(dir, "ckpt")}, {"backup", dir, filepath.Join(dir, "sub")},
		{"wal", "archive", "-dir", dir, "-to", filepath.Join(dir, "wal", "..", "wal")},
		{"dev", filepath.Join(dir, "ckpt"), "-auth", "-write-listen", "127.0.0.1:0", "-read-listen", "127.0.0.1:0"},
	} {
		var out, words bytes.Buffer
		if code := Main(args, strings.NewReader(""), &out, &words, func(string) (string, bool) { return "", false }); code != exitUsage {
			t.Errorf("ledgerctl %v: exit code %d, want %d: %s", args, code, exitUsage, words.String())
		}
		if after := filesIn(t, dir); !slices.Equal(before, after) {
			t.Fatalf("ledgerctl %v: the files were %v, and are %v", args, before, after)
		}
	}
}

// containers returns batches of operations that each create a container.
func containers(t *testing.T, batches, ops int) (all [][]ledger.Op) {
	t.Helper()
	for i := range batches {
		var batch []ledger.Op
		for j := range ops {
			op, err := ledger.ParseOpWords(fmt.Sprintf("CreateContainer container_id=%d kind=Standard", i*ops+j+1))
			if err != nil {
				t.Fatal(err)
			}
			batch = append(batch, op)
		}
		all = append(all, batch)
	}
	return all
}

// writeCheckpoints writes checkpoints after the given commits of a log. Each of
// these commits must end a frame.
func writeCheckpoints(t *testing.T, dir string, seqs ...uint64) {
	t.Helper()
	r, err := wal.OpenReader(dir, wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	state, record := ledger.NewState(ledger.Config{IdempotencyKeys: 1_000_000}), ledger.Record{}
	for len(seqs) > 0 {
		f, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		batchSeq := uint32(0)
		err = f.Each(func(_ uint64, b []byte) error {
			batchSeq++
			return errors.Join(record.Decode(b), state.Replay(&record, f.Time, batchSeq))
		})
		if err == nil && f.Last() == seqs[0] {
			place := ledger.CheckpointPlace{LogID: r.LogID(), Chain: f.Chain, Time: f.Time}
			err = wal.WriteCheckpoint(dir, seqs[0], wal.Options{}, func(w io.Writer) error { return state.WriteCheckpoint(w, place) })
			seqs = seqs[1:]
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
