// Command ledger-read is the read daemon: it follows the commit log of a
// directory and answers reads of the ledger over HTTP.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"assetledger/server"
	"assetledger/server/settings"
	"assetledger/wal"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	p, c := program()
	if exit, done := p.Begin(args, os.LookupEnv, stdout, stderr); done {
		return exit
	}
	c.Ready, c.Log, c.Access.Reload = stdout, p.Log(stderr), server.Hangups()
	var err error
	if c.Access.Inherited, c.Notify, err = server.Systemd(os.LookupEnv); err != nil {
		c.Log.Error("stopped", "error", p.Explain(err))
		return server.ExitCode(err)
	}
	server.TuneMemory()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	err = server.RunRead(ctx, *c)
	if err != nil {
		c.Log.Error("stopped", "error", p.Explain(err))
	}
	return server.ExitCode(err)
}

// program makes a flag for every setting.
func program() (*settings.Program, *server.ReadConfig) {
	p := settings.New("ledger-read", "serves reads of the ledger in a directory.", server.Build())
	set := server.DefaultReadConfig()
	c, flags := &set, p.Flags
	flags.StringVar(&c.Dir, "dir", "", "`DIRECTORY` of the commit log, as the write daemon's (required), for example /var/lib/ledger")
	flags.StringVar(&c.Listen, "listen", c.Listen, "`ADDRESS` to listen on: host:port, where port 0 is any, or unix:/path")
	flags.StringVar(&c.Name, "name", c.Name, "`NAME` of this read daemon, unlike those of the others on the same log")
	flags.Int64Var(&c.MaxLag, "max-lag", 0, "`COMMITS` behind the log beyond which the health is degraded; 0 for no bound")
	flags.Uint64Var(&c.Every, "checkpoint-every", c.Every, "`COMMITS` between two checkpoints of the state on disk; one more is made when stopping; 0 for none")
	flags.IntVar(&c.Keys, "idempotency-keys", c.Keys, "`NUMBER` of idempotency keys that checkpoints hold; the write daemon starts from those that hold as many as its own flag says")
	flags.DurationVar(&c.Poll, "poll", c.Poll, "longest `TIME` between two looks at the end of the log")
	flags.BoolVar(&c.Page, "page", c.Page, "serve the page for people at /; -page=false does not")
	flags.BoolVar(&c.LogAll, "log-requests", false, "log every request, not only those that failed here")
	c.Timeouts.Flags(flags)
	c.Access.Flags(flags)
	p.Check = func() error { return check(c) }
	return p, c
}

// check says what is wrong with the settings, if anything is.
func check(c *server.ReadConfig) error {
	switch {
	case c.Dir == "":
		return errors.New("-dir is required: the directory of the commit log")
	case c.Keys < 0:
		return errors.New("-idempotency-keys must be 0 or more")
	case wal.CheckReaderName(c.Name) != nil:
		return fmt.Errorf("-name: %w", wal.CheckReaderName(c.Name))
	case c.MaxLag < 0:
		return errors.New("-max-lag must be 0 or more")
	case c.Poll <= 0 || c.Poll > time.Minute:
		return errors.New("-poll must be more than 0 and at most 1m")
	}
	if err := c.Timeouts.Check(); err != nil {
		return err
	}
	return c.Access.Check(c.Listen)
}
