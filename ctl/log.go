package ctl

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"

	"assetledger/ledger"
	"assetledger/server/commitlog/etcdlog"
	"assetledger/wal"
)

var logPushCommand = command{
	Words:   "log push",
	Args:    "[DIR]",
	Purpose: "create a log on several machines from a directory",
	Notes: "Stop the write daemon of the directory first. Afterwards the directory is the first copy of the log in etcd. Start\n" +
		"ledger-write with -driver and the same URL on it. On the other hosts, start ledger-write with empty directories,\n" +
		"which are filled from this one. Until then, the commits are only on this host.",
	Examples: [2]string{"log push data -to etcd://10.0.0.1:2379,10.0.0.2:2379/ledger", "log push data -to etcd://10.0.0.1:2379/ledger -driver-user /etc/ledger/etcd-user"},
	Setup: func(set *flag.FlagSet) action {
		l, to := &logFlags{}, &etcdlog.Connection{}
		l.declare(set)
		set.StringVar(&to.URL, "to", "", "`URL` of the log: etcd://HOST:PORT[,HOST:PORT...]/PREFIX")
		set.StringVar(&to.CA, "driver-ca", "", "`FILE` with the root certificates of etcd's members, in PEM; without it the connection is not encrypted")
		set.StringVar(&to.Cert, "driver-cert", "", "`FILE` with the client certificate for etcd, in PEM")
		set.StringVar(&to.Key, "driver-key", "", "`FILE` with the private key of -driver-cert, in PEM")
		set.StringVar(&to.UserFile, "driver-user", "", "`FILE` whose first line is user:password for etcd")
		return func(c *call) error { return l.push(c, to) }
	},
}

func (l *logFlags) push(c *call, to *etcdlog.Connection) error {
	if to.URL == "" {
		return usagef("no target: give a URL with -to, such as etcd://10.0.0.1:2379/ledger")
	}
	d, err := to.Connect()
	if err = cmp.Or(to.Check(), err); err != nil {
		return usagef("%v", err)
	}
	if err := l.present(); err != nil {
		return err
	}
	d.Dir, d.Name = l.dir, "push"
	last, err := d.Push(c.ctx)
	if err != nil {
		return err
	}
	return c.done(fmt.Sprintf("%s now has a log, which continues after commit %d; start ledger-write -dir %s -driver %s", to.URL, last, l.dir, to.URL),
		fact{"log", to.URL}, fact{"seq", last})
}

// done reports a result that can't be requested again, even if standard output is full.
func (c *call) done(words string, facts ...fact) error {
	if c.json() {
		c.writeObject(facts)
	} else {
		fmt.Fprintln(c.out, words)
	}
	if err := c.out.Flush(); err != nil {
		return exitf(exitFailure, "%s; the result could not be written: %v", words, err)
	}
	return nil
}

var logDetachCommand = command{
	Words:   "log detach",
	Args:    "[DIR]",
	Purpose: "make a copy of a log independent, if the log is lost for good",
	Notes: "ledger-write with -driver file rejects a directory that is marked as a copy, of a log in etcd or on another host.\n" +
		"This command removes the mark. Commits that were acknowledged but are not in the directory are lost.\n" +
		"It does not fence the original: make sure that no daemon writes to it, or there will be two histories.",
	Examples: [2]string{"log detach data -accept-loss", "log detach /var/lib/ledger/log -accept-loss -o json"},
	Setup: func(set *flag.FlagSet) action {
		l := &logFlags{}
		l.declare(set)
		accept := set.Bool("accept-loss", false, "accept that commits that are not in the directory are lost")
		return func(c *call) error { return l.detach(c, *accept) }
	},
}

func (l *logFlags) detach(c *call, accept bool) error {
	of, err := wal.CopyOf(l.dir, wal.Options{})
	if err != nil {
		return l.explain(err)
	}
	if of == "" {
		return cmp.Or(l.present(), fmt.Errorf("%s is not marked as a copy of another log: there is nothing to do", l.dir))
	}
	w, err := wal.Prepare(l.dir, wal.Options{Copy: true, Manual: true})
	if err != nil {
		return err
	}
	defer w.Close()
	if !accept {
		return usagef("%s reaches commit %d of %s, and commits after it may have been acknowledged: give -accept-loss if they are lost for good", l.dir, w.LastSeq(), of)
	}
	if err := w.Start(); err != nil { // recovers the end while the less strict rules for copies still apply
		return err
	}
	if err := wal.UnmarkCopy(l.dir, wal.Options{}); err != nil {
		return err
	}
	return c.done(fmt.Sprintf("%s is independent after commit %d; it was a copy of %s, which is not fenced: no daemon may write to it", l.dir, w.LastSeq(), of),
		fact{"was_copy_of", of}, fact{"seq", w.LastSeq()})
}

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
		sum = fmt.Sprintf("%d commits after commit %d are lost; %d of them can still be read and are listed", plan.Lost, plan.Kept, readable)
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
			if seq < next {
				return nil
			}
			gap(seq)
			if err := record.Decode(bytes); err != nil {
				return nil // it counts as not readable
			}
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
