package ctl

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"

	"assetledger/ledger"
	"assetledger/wal"
)

var walRepairCommand = command{
	Words:   "wal repair",
	Args:    "[DIR]",
	List:    true,
	Purpose: "end a damaged log at its last good commit, and report the loss",
	Notes: "Without -accept-loss it changes nothing, lists the commits that would be lost, and exits with 6. With it, nothing\n" +
		"is deleted: damaged bytes are copied to wal/repair-….bad, and later segments and checkpoints are renamed to ….bad.\n" +
		"Damaged checkpoints are renamed too, which loses no commit.\n" +
		"It needs exclusive use of the log: stop ledger-write first. If there is a backup, restore that instead.",
	Examples: [2]string{"wal repair data", "wal repair data -accept-loss"},
	Setup: func(set *flag.FlagSet) action {
		l := &logFlags{}
		l.declare(set)
		accept := set.Bool("accept-loss", false, "drop the commits after the damage")
		return func(c *call) error { return l.repair(c, *accept) }
	},
}

func (l *logFlags) repair(c *call, accept bool) error {
	plan, err := wal.Repair(l.dir, wal.RepairOptions{Checkpoint: l.checkpoint})
	if errors.Is(err, wal.ErrLocked) {
		return fmt.Errorf("%w: stop ledger-write first", err)
	}
	if err != nil {
		return l.explain(err)
	}
	if !plan.Needed {
		c.say("the log needs no repair: ledger-write can start on it")
		return nil
	}
	c.say("%s", plan.Reason)
	for _, name := range plan.Foreign {
		c.say("%s belongs to another log, or to another history of this log", name)
	}
	readable, err := l.listLost(c, &plan)
	if err != nil {
		return err
	}
	sum := "no commit is lost"
	if plan.Lost > 0 {
		sum = fmt.Sprintf("the loss is %s after commit %d, of which %d can still be read (see the list)", count(plan.Lost, "commit"), plan.Kept, readable)
	}
	if !accept {
		return exitf(exitDamaged, "nothing was changed; with -accept-loss %s", sum)
	}
	done, err := wal.Repair(l.dir, wal.RepairOptions{Checkpoint: l.checkpoint, Accept: true})
	if err != nil {
		return err
	}
	for _, name := range append(done.Moved, done.Copy) {
		if name != "" {
			c.say("kept %s", name)
		}
	}
	c.say("the log now ends at commit %d; %s", done.Kept, sum)
	return nil
}

// checkpoint reads a checkpoint in the same way as wal verify. A checkpoint that a newer
// version made, or that the disk fails to read, does not count as damaged.
func (l *logFlags) checkpoint(seq uint64, id wal.LogID) (wal.Place, error) {
	_, place, err := readCheckpoint(l.dir, seq, id, 0)
	_, disk := errors.AsType[*fs.PathError](err)
	if !errors.Is(err, fs.ErrNotExist) && (disk || errors.Is(err, ledger.ErrCheckpointVersion)) {
		return place, fmt.Errorf("%s: %v", wal.CheckpointPath(l.dir, seq), errors.Unwrap(err))
	}
	return place, err
}

// listLost shows each lost commit: its global_seq, its idempotency key, and whether its
// record can still be read. For unreadable ones it shows only the number.
func (l *logFlags) listLost(c *call, plan *wal.RepairReport) (readable int, err error) {
	row, end := c.list("global_seq idempotency_key readable")
	defer end()
	var record ledger.Record
	next := plan.Kept + 1
	gap := func(to uint64) {
		for ; next < to; next++ {
			row(next, nil, false)
		}
	}
	err = wal.Salvage(l.dir, plan.Kept, wal.Options{}, func(f *wal.Frame) error {
		return f.Each(func(seq uint64, bytes []byte) error {
			if seq < next || record.Decode(bytes) != nil {
				return nil // a record that can't be decoded is in the next gap
			}
			gap(seq)
			var key any
			if len(record.Tx.Key) > 0 {
				key = string(record.Tx.Key)
			}
			row(seq, key, true)
			readable++
			next = seq + 1
			return nil
		})
	})
	gap(plan.Kept + plan.Lost + 1)
	return readable, err
}
