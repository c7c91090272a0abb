package ctl

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"assetledger/ledger"
	"assetledger/wal"
)

// A log whose checksums all fit may still be wrong: verify replays it.
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
		good       uint64 // the last good commit
	}{
		{"digest", "state digest", record(create), 1, 1},
		{"refused by the state", "replay", record(add), 0, 0},
		{"no record", "record", []byte{255}, 0, 0},
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
				t.Errorf("exit code %d, %s%s", code, &stdout, &stderr)
			}
			v := &verification{log: logFlags{dir: dir}}
			err = v.run(&call{words: &stderr})
			var damaged *wal.CorruptError
			if !errors.As(err, &damaged) || damaged.Seq != c.good || damaged.Offset != 4096 || !strings.HasSuffix(damaged.File, ".seg") {
				t.Errorf("%#v", err)
			}
		})
	}
}
