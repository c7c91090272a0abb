package ctl

import (
	"flag"
	"fmt"
	"strconv"
	"time"

	"assetledger/wal"
)

var backupCommand = command{
	Words:   "backup",
	Args:    "DIR OUT",
	Purpose: "copy a log, also one in use, up to what is durable",
	Notes: "OUT is made, or holds an earlier backup of the same log, which is continued: what it has is not\n" +
		"copied again, but for the segment in use, and that only if it has new commits.\n" +
		"Every checksum, the chain and the state of the copy are checked. ledger-write -dir OUT starts on it.",
	Examples: [2]string{"backup data backup", "backup data /mnt/backup -o json"},
	Setup: func(set *flag.FlagSet) action {
		return func(c *call) error { return (&backing{c: c, dir: c.args[0], out: c.args[1]}).run() }
	},
}

type backing struct {
	c        *call
	dir, out string
	checked  verification
}

func (b *backing) run() error {
	bar, start := newProgress(b.c.words), time.Now()
	report, err := wal.Backup(b.dir, b.out, wal.BackupOptions{
		OnProgress: func(done, total int64) { bar.bytes(done, total, time.Since(start)) },
		Check: func() error {
			b.checked = verification{log: logFlags{b.out}}
			_, err := b.checked.verify(bar)
			return err
		},
	})
	bar.clear()
	if err != nil {
		return (&logFlags{b.dir}).explain(err)
	}
	took := time.Since(start)
	if b.c.json() {
		fmt.Fprintf(b.c.out, `{"log_id":"%v","end_seq":%d,"segments":%d,"copied_segments":%d,"copied_checkpoints":%d,"copied_bytes":%d,"continued":%t,"digest":"%016x"}`+"\n",
			report.ID, report.End, report.Segments, report.Copied, report.Checkpoints, report.Bytes, report.Continued, b.checked.state.Digest())
		return nil
	}
	t := newTable(b.c.out)
	t.row("log_id", report.ID.String())
	t.row("end_seq", strconv.FormatUint(report.End, 10))
	t.row("segments", strconv.Itoa(report.Segments))
	t.row("copied_segments", strconv.Itoa(report.Copied))
	t.row("copied_checkpoints", strconv.Itoa(report.Checkpoints))
	t.row("copied_bytes", strconv.FormatInt(report.Bytes, 10))
	t.row("continued", strconv.FormatBool(report.Continued))
	t.row("digest", fmt.Sprintf("%016x", b.checked.state.Digest()))
	t.flush()
	fmt.Fprintf(b.c.words, "ledgerctl: copied and checked in %v\n", took.Round(time.Millisecond))
	return nil
}
