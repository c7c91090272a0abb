package ctl

import (
	"cmp"
	"context"
	"flag"
	"fmt"

	"assetledger/ledger"
	"assetledger/server/commitlog/etcdlog"
	"assetledger/wal"
)

var logPushCommand = command{
	Words:   "log push",
	Args:    "[DIR]",
	Purpose: "begin a log on several machines with a directory",
	Notes: "No write daemon may run on the directory. Afterwards it is the first copy of the log in etcd: start ledger-write\n" +
		"with -driver and the same URL on it, and on the other hosts with directories of their own, which fill from this\n" +
		"one. What is in the directory is on this host alone until they have.",
	Examples: [2]string{"log push data -to etcd://10.0.0.1:2379,10.0.0.2:2379/ledger", "log push data -to etcd://10.0.0.1:2379/ledger -driver-user /etc/ledger/etcd-user"},
	Setup: func(set *flag.FlagSet) action {
		p := &logPush{}
		p.log.declare(set)
		set.StringVar(&p.to.URL, "to", "", "`URL` of the log: etcd://HOST:PORT[,HOST:PORT...]/PREFIX")
		set.StringVar(&p.to.CA, "driver-ca", "", "`FILE` with the root certificates of etcd's members, in PEM; without it the connection is plain")
		set.StringVar(&p.to.Cert, "driver-cert", "", "`FILE` with the client certificate for etcd, in PEM")
		set.StringVar(&p.to.Key, "driver-key", "", "`FILE` with the private key of -driver-cert, in PEM")
		set.StringVar(&p.to.UserFile, "driver-user", "", "`FILE` whose first line is user:password for etcd")
		return p.run
	},
}

type logPush struct {
	log logFlags
	to  etcdlog.Connection
}

func (p *logPush) run(c *call) error {
	if p.to.URL == "" {
		return usagef("where to? give a URL with -to, such as etcd://10.0.0.1:2379/ledger")
	}
	if err := p.to.Check(); err != nil {
		return usagef("%v", err)
	}
	if err := p.log.present(); err != nil {
		return err
	}
	d, err := p.to.Connect()
	if err != nil {
		return usagef("%v", err)
	}
	d.Dir, d.Name = p.log.dir, "push"
	last, err := d.Push(context.Background())
	if err != nil {
		return err
	}
	return c.done(fmt.Sprintf("%s has a log now, which goes on after commit %d; start ledger-write -dir %s -driver %s", p.to.URL, last, p.log.dir, p.to.URL),
		`{"log":%s,"seq":%d}`, ledger.AppendString(nil, p.to.URL), last)
}

// done reports an outcome that can't be had again, even if standard output is full.
func (c *call) done(words, format string, values ...any) error {
	if c.json() {
		fmt.Fprintf(c.out, format+"\n", values...)
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
	Purpose: "let a copy of a log go on alone, when the log is lost for good",
	Notes: "A directory that is a copy, of a log in etcd or of another host's, is rejected by ledger-write with -driver file.\n" +
		"This command takes the mark away. Commits that were acknowledged and have not reached the directory are lost.\n" +
		"Nothing is fenced: make sure that no daemon writes the original any more, or there will be two histories.",
	Examples: [2]string{"log detach data -accept-loss", "log detach /var/lib/ledger/log -accept-loss -o json"},
	Setup: func(set *flag.FlagSet) action {
		d := &logDetach{}
		d.log.declare(set)
		set.BoolVar(&d.accept, "accept-loss", false, "yes, what has not reached the directory is lost")
		return d.run
	},
}

type logDetach struct {
	log    logFlags
	accept bool
}

func (d *logDetach) run(c *call) error {
	of, err := wal.CopyOf(d.log.dir, wal.Options{})
	if err != nil {
		return d.log.explain(err)
	}
	if of == "" {
		return cmp.Or(d.log.present(), fmt.Errorf("%s is no copy of another log; nothing is to be done", d.log.dir))
	}
	w, err := wal.Prepare(d.log.dir, wal.Options{Copy: true, Manual: true})
	if err != nil {
		return err
	}
	defer w.Close()
	if !d.accept {
		return usagef("%s reaches commit %d of %s, and commits after it may have been acknowledged: say -accept-loss if they are lost for good", d.log.dir, w.LastSeq(), of)
	}
	if err := w.Start(); err != nil { // recovers the end by the rules for copies, which allow more
		return err
	}
	if err := wal.UnmarkCopy(d.log.dir, wal.Options{}); err != nil {
		return err
	}
	return c.done(fmt.Sprintf("%s goes on alone after commit %d; it was a copy of %s, which is not fenced: no daemon may write that any more", d.log.dir, w.LastSeq(), of),
		`{"was_copy_of":%s,"seq":%d}`, ledger.AppendString(nil, of), w.LastSeq())
}
