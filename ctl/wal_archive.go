package ctl

import (
	"errors"
	"flag"
	"fmt"

	"assetledger/ledger"
	"assetledger/wal"
)

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
		_, _, err := readCheckpoint(a.log.dir, seq, a.keys)
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
