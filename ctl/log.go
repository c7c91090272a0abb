package ctl

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/commitlog/etcdlog"
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

var logPushCommand = command{
	Words:   "log push",
	Args:    "[DIR]",
	Purpose: "create a log on several machines from a directory",
	Notes: "Stop the write daemon of the directory first. Afterwards the directory is the first copy of the log in etcd. Start\n" +
		"ledger-write on it with -driver and the same URL. On the other hosts, start ledger-write with empty directories,\n" +
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
