package ctl

import (
	"cmp"
	"errors"
	"flag"
	"fmt"

	"assetledger/ledger"
	"assetledger/server/commitlog/etcdlog"
	"assetledger/server/httpserver"
	"assetledger/wal"
)

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
		c.say("moved %s, all before commit %d, to %s", count(len(report.Moved), "segment"), report.Below, to)
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
