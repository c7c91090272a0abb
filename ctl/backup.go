package ctl

import (
	"io"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/wal"
)

var backupCommand = command{
	Words:   "backup",
	Args:    "[DIR] OUT",
	Purpose: "copy a log, even while it is in use, up to its durable end",
	Notes: "OUT is created, or must be empty. If it holds an earlier backup of the same log, that backup is continued: only new\n" +
		"data is copied. The segment in use is copied again if it has new commits. The copy's checksums, chain and state are checked.\n" +
		"To start the copy, use ledgerctl dev OUT or ledger-write -dir OUT. On the same machine, use other ports\n" +
		"(dev: -write-listen, -read-listen; ledger-write: -listen). A copy that was started is a ledger of its own: from then on, back up to another OUT.\n" +
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
