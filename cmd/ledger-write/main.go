// Command ledger-write is the write daemon: it accepts commits and
// registrations over HTTP and keeps them in the commit log of a directory.
package main

import (
	"errors"
	"io"
	"os"

	"assetledger/server"
	"assetledger/server/settings"
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
	server.TuneProcessors()
	err = server.RunWrite(server.SignalContext(), *c)
	if err != nil {
		c.Log.Error("stopped", "error", p.Explain(err))
	}
	return server.ExitCode(err)
}

// program makes a flag for every setting.
func program() (*settings.Program, *server.WriteConfig) {
	p := settings.New("ledger-write", "accepts commits into the ledger in a directory.", server.Build())
	set := server.DefaultWriteConfig()
	c, flags := &set, p.Flags
	flags.StringVar(&c.Dir, "dir", "", "`DIRECTORY` of the commit log; made if missing (required), for example /var/lib/ledger")
	flags.StringVar(&c.Listen, "listen", c.Listen, "`ADDRESS` to listen on: host:port, where port 0 is any, or unix:/path")
	flags.IntVar(&c.IdempotencyKeys, "idempotency-keys", c.IdempotencyKeys, "`NUMBER` of the last commits with an idempotency key that are remembered")
	flags.Int64Var(&c.SegmentSize, "segment-size", c.SegmentSize, "`BYTES` of a segment of the log, from its birth on")
	flags.Int64Var(&c.MaxBody, "max-body", c.MaxBody, "limit in `BYTES` on the body of a commit, preflight or registration")
	flags.Int64Var(&c.MaxBatchBody, "max-batch-body", c.MaxBatchBody, "limit in `BYTES` on the body of a batch request")
	flags.Int64Var(&c.MaxInflight, "max-inflight", c.MaxInflight, "limit in `BYTES` on the bodies of all requests that are not answered yet")
	flags.IntVar(&c.MaxNesting, "max-nesting", c.MaxNesting, "limit on `LEVELS` of JSON in a body")
	flags.IntVar(&c.Queue, "queue", c.Queue, "limit on the `NUMBER` of requests that wait to be sequenced")
	flags.Uint64Var(&c.MaxLag, "max-lag", c.MaxLag, "`COMMITS` that the slowest read daemon may be behind before the health is degraded; 0 for no bound")
	flags.BoolVar(&c.LogAll, "log-requests", false, "log every request, not only those that failed here")
	c.Timeouts.Flags(flags)
	c.Access.Flags(flags)
	p.Check = func() error {
		if c.Dir == "" {
			return errors.New("-dir is required: the directory of the commit log")
		}
		if err := c.Validate(); err != nil {
			return err
		}
		if err := c.Timeouts.Check(); err != nil {
			return err
		}
		return c.Access.Check(c.Listen)
	}
	return p, c
}
