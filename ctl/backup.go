package ctl

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/wal"
)

var backupCommand = command{
	Words:   "backup",
	Args:    "[DIR] OUT",
	Purpose: "copy a log, also one in use, up to what is durable",
	Notes: "OUT is made, or holds an earlier backup of the same log, which is continued: what it has is not\n" +
		"copied again, but for the segment in use, and that only if it has new commits.\n" +
		"Every checksum, the chain and the state of the copy are checked. ledgerctl dev OUT and ledger-write -dir OUT start on it.\n" +
		"A copy that was started is a ledger of its own: back up elsewhere from then on. On the same machine, start it on\n" +
		"other ports (-write-listen, -read-listen). OUT is rejected, and not changed, while a write daemon uses it, and when\n" +
		"it has commits that DIR lacks. A copy that was started, and stopped without commits, can be continued; note that\n" +
		"holds that expire make commits by themselves.",
	Examples: [2]string{"backup /mnt/backup", "backup data /mnt/backup -o json"},
	Setup: func(set *flag.FlagSet) action {
		l := &logFlags{}
		l.declare(set)
		return func(c *call) error { return (&backing{c: c, dir: l.dir, out: c.args[0]}).run() }
	},
}

type backing struct {
	c        *call
	dir, out string
	checked  verification
}

func (b *backing) run() error {
	bar := newProgress(b.c.words)
	report, err := wal.Backup(b.dir, b.out, wal.BackupOptions{
		OnProgress: func(done, total int64) {
			bar.say("copied %d of %d MiB, %.0f MiB/s", done>>20, total>>20, float64(done>>20)/max(bar.elapsed().Seconds(), 1e-3))
		},
		Place: func(checkpoint io.Reader) (wal.Place, error) {
			info, err := ledger.ReadCheckpointInfo(checkpoint)
			return commitlog.PlaceOf(&info), err
		},
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
	if b.c.json() {
		fmt.Fprintf(b.c.out, `{"log_id":"%v","end_seq":%d,"segments":%d,"copied_segments":%d,"copied_checkpoints":%d,"copied_bytes":%d,"continued":%t,"digest":"%016x"}`+"\n",
			report.ID, report.End, report.Segments, report.Copied, report.Checkpoints, report.Bytes, report.Continued, b.checked.state.Digest())
		return nil
	}
	t := newTable(b.c.out)
	t.row("log_id", report.ID)
	t.row("end_seq", report.End)
	t.row("segments", report.Segments)
	t.row("copied_segments", report.Copied)
	t.row("copied_checkpoints", report.Checkpoints)
	t.row("copied_bytes", report.Bytes)
	t.row("continued", report.Continued)
	t.row("digest", fmt.Sprintf("%016x", b.checked.state.Digest()))
	t.flush()
	fmt.Fprintf(b.c.words, "ledgerctl: copied and checked in %v\n", bar.elapsed())
	return nil
}

var walArchiveCommand = command{
	Words:   "wal archive",
	Args:    "[DIR]",
	Purpose: "move old segments of a log to another directory",
	Notes: "It moves the segments that lie wholly before the older of the two newest checkpoints, which it checks first,\n" +
		"for the daemons' -idempotency-keys too, and works beside running daemons: what an attached read daemon still\n" +
		"needs stays. Reads of the commits in them answer 410 CommitArchived from then on. To have them again, move\n" +
		"the files back.",
	Examples: [2]string{"wal archive data -to archive", "wal archive data -to /mnt/archive -o json"},
	Setup: func(set *flag.FlagSet) action {
		a := &archiving{}
		a.log.declare(set)
		set.StringVar(&a.to, "to", "", "`DIR` that the segments go to; made if missing")
		set.IntVar(&a.keys, "idempotency-keys", 1_000_000, "`NUMBER` that the daemons are started with: the checkpoints must hold as many keys")
		return a.run
	},
}

type archiving struct {
	log  logFlags
	to   string
	keys int
}

func (a *archiving) run(c *call) error {
	if a.keys < 0 {
		return usagef("-idempotency-keys is %d, and must be at least 0", a.keys)
	}
	if a.to == "" {
		return usagef("where to? give a directory with -to")
	}
	if err := a.log.present(); err != nil {
		return err
	}
	seqs, err := wal.ListCheckpoints(a.log.dir, wal.Options{})
	if err != nil {
		return err
	}
	if len(seqs) < 2 {
		return fmt.Errorf("nothing can be archived: the log has %s, and segments go only when two stand for them; "+
			"ledger-read makes them (-checkpoint-every)", count(len(seqs), "checkpoint"))
	}
	seqs = seqs[len(seqs)-2:]
	for _, seq := range seqs {
		_, _, err := readCheckpoint(a.log.dir, seq, wal.LogID{}, a.keys)
		if errors.Is(err, ledger.ErrCheckpointWindow) {
			return usagef("nothing was archived: ledger-write -idempotency-keys %d could not start without the segments: %v; "+
				"start ledger-read with as many as ledger-write, and wait for two checkpoints; or say -idempotency-keys here, if the daemons have another number", a.keys, err)
		}
		if err != nil {
			return err
		}
	}
	report, err := wal.Archive(a.log.dir, a.to, seqs[0], nil)
	for _, name := range report.Moved {
		if c.json() {
			fmt.Fprintf(c.out, `{"moved":%s}`+"\n", ledger.AppendString(nil, name))
		} else {
			fmt.Fprintln(c.out, name)
		}
	}
	if err == nil {
		fmt.Fprintf(c.words, "ledgerctl: moved %d segments that end before commit %d to %s\n", len(report.Moved), report.Below, a.to)
	}
	if err == nil && report.Held != "" {
		fmt.Fprintf(c.words, "ledgerctl: the segments from commit %d on stay for the read daemon %s, which has applied no more yet\n", report.Below, report.Held)
	}
	return err
}
