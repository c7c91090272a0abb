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
		r := &repairing{}
		r.log.declare(set)
		set.BoolVar(&r.accept, "accept-loss", false, "drop the commits after the damage")
		return r.run
	},
}

type repairing struct {
	log    logFlags
	accept bool
	record ledger.Record
}

func (r *repairing) run(c *call) error {
	plan, err := wal.Repair(r.log.dir, wal.RepairOptions{Checkpoint: r.checkpoint})
	if errors.Is(err, wal.ErrLocked) {
		return fmt.Errorf("%w: stop ledger-write first", err)
	}
	if err != nil {
		return r.log.explain(err)
	}
	if !plan.Needed {
		c.say("the log needs no repair: ledger-write can start on it")
		return nil
	}
	c.say("%s", plan.Reason)
	for _, name := range plan.Foreign {
		c.say("%s belongs to another log, or to another history of this log", name)
	}
	readable, err := r.list(c, &plan)
	if err != nil {
		return err
	}
	sum := "no commit is lost"
	if plan.Lost > 0 {
		sum = fmt.Sprintf("%d commits after commit %d are lost; %d of them can still be read and are listed", plan.Lost, plan.Kept, readable)
	}
	if !r.accept {
		return exitf(exitDamaged, "nothing was changed; with -accept-loss %s", sum)
	}
	done, err := wal.Repair(r.log.dir, wal.RepairOptions{Checkpoint: r.checkpoint, Accept: true})
	if err != nil {
		return err
	}
	for _, name := range done.Moved {
		c.say("kept %s", name)
	}
	if done.Copy != "" {
		c.say("kept %s", done.Copy)
	}
	c.say("the log now ends at commit %d; %s", done.Kept, sum)
	return nil
}

// checkpoint reads a checkpoint in the same way as wal verify. A checkpoint that a newer
// version made, or that the disk fails to read, does not count as damaged.
func (r *repairing) checkpoint(seq uint64, id wal.LogID) (wal.Place, error) {
	_, place, err := readCheckpoint(r.log.dir, seq, id, 0)
	_, disk := errors.AsType[*fs.PathError](err)
	if !errors.Is(err, fs.ErrNotExist) && (disk || errors.Is(err, ledger.ErrCheckpointVersion)) {
		return place, fmt.Errorf("%s: %v", wal.CheckpointPath(r.log.dir, seq), errors.Unwrap(err))
	}
	return place, err
}

// list shows each lost commit: its global_seq, its idempotency key, and whether its
// record can still be read. For unreadable ones it shows only the number.
func (r *repairing) list(c *call, plan *wal.RepairReport) (readable int, err error) {
	row, end := c.list("global_seq idempotency_key readable")
	defer end()
	next := plan.Kept + 1
	gap := func(to uint64) {
		for ; next < to; next++ {
			row(next, nil, false)
		}
	}
	err = wal.Salvage(r.log.dir, plan.Kept, wal.Options{}, func(f *wal.Frame) error {
		return f.Each(func(seq uint64, record []byte) error {
			if seq < next {
				return nil
			}
			gap(seq)
			if err := r.record.Decode(record); err != nil {
				return nil // it counts as not readable
			}
			var key any
			if len(r.record.Tx.Key) > 0 {
				key = string(r.record.Tx.Key)
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
