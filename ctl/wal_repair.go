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
	Purpose: "end a damaged log at its last good commit, and say what that loses",
	Notes: "Without -accept-loss it changes nothing, lists the commits that would be lost, and exits with 6. With it, the\n" +
		"damaged bytes are kept: copied to wal/repair-….bad, and later segments and checkpoints renamed to ….bad.\n" +
		"Damaged checkpoints are renamed too, which loses no commit.\n" +
		"It needs the log for itself: stop ledger-write first. A backup is the better way, if there is one.",
	Examples: [2]string{"wal repair data", "wal repair data -accept-loss"},
	Setup: func(set *flag.FlagSet) action {
		r := &repairing{}
		r.log.declare(set)
		set.BoolVar(&r.accept, "accept-loss", false, "drop the commits behind the damage")
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
		fmt.Fprintln(c.words, "ledgerctl: the log needs no repair: ledger-write starts on it as it is")
		return nil
	}
	c.say("%s", plan.Reason)
	for _, name := range plan.Foreign {
		c.say("%s is of another log, or of another history of this log", name)
	}
	readable, err := r.list(c, &plan)
	if err != nil {
		return err
	}
	sum := "no commit is lost"
	if plan.Lost > 0 {
		sum = fmt.Sprintf("%d commits after commit %d are lost, %d of them can still be read, and are listed", plan.Lost, plan.Kept, readable)
	}
	if !r.accept {
		return exitf(exitDamaged, "nothing was changed; with -accept-loss %s", sum)
	}
	done, err := wal.Repair(r.log.dir, wal.RepairOptions{Checkpoint: r.checkpoint, Accept: true})
	if err != nil {
		return err
	}
	for _, name := range done.Moved {
		fmt.Fprintf(c.words, "ledgerctl: kept %s\n", name)
	}
	if done.Copy != "" {
		fmt.Fprintf(c.words, "ledgerctl: kept %s\n", done.Copy)
	}
	fmt.Fprintf(c.words, "ledgerctl: the log ends at commit %d now; %s\n", done.Kept, sum)
	return nil
}

// checkpoint reads a checkpoint in the same way as wal verify. A checkpoint of a newer
// version, or with a read error of the disk, does not count as damaged.
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
	t := c.newTable(numeric("global_seq"), text("idempotency_key"), text("readable"))
	row := func(seq uint64, key string, found bool) {
		if c.json() {
			fmt.Fprintf(c.out, `{"global_seq":%d,"idempotency_key":%s,"readable":%t}`+"\n", seq, keyOrNull(key), found)
			return
		}
		t.row(seq, key, found)
	}
	next := plan.Kept + 1
	gap := func(to uint64) {
		for ; next < to; next++ {
			row(next, "", false)
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
			row(seq, string(r.record.Tx.Key), true)
			readable++
			next = seq + 1
			return nil
		})
	})
	gap(plan.Kept + plan.Lost + 1)
	if !c.json() {
		t.flush()
	}
	return readable, err
}

func keyOrNull(key string) []byte {
	if key == "" {
		return []byte("null")
	}
	return ledger.AppendString(nil, key)
}
