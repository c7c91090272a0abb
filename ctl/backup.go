package ctl

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/httpserver"
	"assetledger/wal"
)

var backupCommand = command{
	Words:   "backup",
	Args:    "[DIR] OUT",
	Purpose: "copy a log, even while it is in use, up to its durable end",
	Notes: "OUT is created, or must be empty. If it holds an earlier backup of the same log, that backup is continued: only new\n" +
		"data is copied. The segment in use is copied again if it has new commits. The copy's checksums, chain and state are checked.\n" +
		"To start the copy, use ledgerctl dev OUT or ledger-write -dir OUT. On the same machine, use other ports\n" +
		"(-write-listen, -read-listen). A copy that was started is a ledger of its own: from then on, back up to another OUT.\n" +
		"OUT is rejected, and not changed, while a write daemon uses it, and if it has commits that DIR lacks. A copy that was\n" +
		"started and stopped without commits can be continued. Note that expiring holds create commits.",
	Examples: [2]string{"backup /mnt/backup", "backup data /mnt/backup -o json"},
	Setup:    setup((*logFlags).backup),
}

func (l *logFlags) backup(c *call) error {
	var checked verification
	bar := newProgress(c.words)
	report, err := wal.Backup(l.dir, c.args[0], wal.BackupOptions{
		OnProgress: func(done, total int64) {
			bar.say("copied %d of %d MiB, %.0f MiB/s", done>>20, total>>20, float64(done>>20)/max(bar.elapsed().Seconds(), 1e-3))
		},
		Place: func(checkpoint io.Reader) (wal.Place, error) {
			info, err := ledger.ReadCheckpointInfo(checkpoint)
			return commitlog.PlaceOf(&info), err
		},
		Check: func() error {
			checked = verification{log: logFlags{c.args[0]}}
			_, err := checked.verify(bar)
			return err
		},
	})
	bar.clear()
	if err != nil {
		return l.explain(err)
	}
	c.showFacts(fact{"log_id", report.ID.String()}, fact{"end_seq", report.End}, fact{"segments", report.Segments},
		fact{"copied_segments", report.Copied}, fact{"copied_checkpoints", report.Checkpoints}, fact{"copied_bytes", report.Bytes},
		fact{"continued", report.Continued}, fact{"digest", checked.digest()})
	c.say("copied and checked in %v", bar.elapsed())
	return nil
}

var walArchiveCommand = command{
	Words:   "wal archive",
	Args:    "[DIR]",
	Purpose: "move old segments of a log to another directory",
	Notes: "It moves the segments that end before the older of the two newest checkpoints. It first checks both checkpoints,\n" +
		"including their number of idempotency keys. Daemons may be running: segments that an attached read daemon still\n" +
		"needs are not moved. Afterwards, reads of the moved commits return 410 CommitArchived. To undo this, move\n" +
		"the files back.",
	Examples: [2]string{"wal archive data -to archive", "wal archive data -to /mnt/archive -o json"},
	Setup: func(set *flag.FlagSet) action {
		l := &logFlags{}
		l.declare(set)
		to := set.String("to", "", "`DIR` to move the segments to: new, empty, or with earlier segments")
		keys := number{most: httpserver.MaxKeys, value: 1_000_000, given: true}
		set.Var(&keys, "idempotency-keys", "the daemons' -idempotency-keys, a `NUMBER`: the checkpoints must hold as many keys")
		return func(c *call) error { return l.archive(c, *to, int(keys.value)) }
	},
}

func (l *logFlags) archive(c *call, to string, keys int) error {
	if to == "" {
		return usagef("no target: give a directory with -to")
	}
	seqs, err := wal.ListCheckpoints(l.dir, wal.Options{})
	if err = cmp.Or(l.present(), err); err != nil {
		return err
	}
	if len(seqs) < 2 {
		return fmt.Errorf("nothing can be archived: the log has %s, and two are needed to replace segments; "+
			"ledger-read writes them (-checkpoint-every)", count(len(seqs), "checkpoint"))
	}
	seqs = seqs[len(seqs)-2:]
	for _, seq := range seqs {
		_, _, err := readCheckpoint(l.dir, seq, wal.LogID{}, keys)
		if errors.Is(err, ledger.ErrCheckpointWindow) {
			return usagef("nothing was archived: ledger-write -idempotency-keys %d could not start without the segments: %v; "+
				"give -idempotency-keys if the daemons use another number; otherwise start ledger-read with the same number as ledger-write, and wait for two checkpoints", keys, err)
		}
		if err != nil {
			return err
		}
	}
	report, err := wal.Archive(l.dir, to, seqs[0], nil)
	for _, name := range report.Moved {
		if c.json() {
			c.writeObject([]fact{{"moved", name}})
		} else {
			fmt.Fprintln(c.out, name)
		}
	}
	if err == nil {
		c.say("moved %d segments that end before commit %d to %s", len(report.Moved), report.Below, to)
	}
	if err == nil && report.Held != "" {
		c.say("the segments from commit %d on are kept for the read daemon %s, which has not applied them yet", report.Below, report.Held)
	}
	return err
}
