// Command ledger-write is the write daemon: it accepts commits and
// registrations over HTTP and keeps them in the commit log of a directory.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"assetledger/server"
	"assetledger/server/settings"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	c := server.DefaultWriteConfig()
	c.Ready = stdout
	flags := flag.NewFlagSet("ledger-write", flag.ContinueOnError)
	format := flags.String("log-format", "text", "form of the log on standard error: text or json")
	version := flags.Bool("version", false, "print the version and exit")
	define(flags, &c)
	flags.SetOutput(io.Discard) // what is wrong is told once, below
	if err := settings.Parse(flags, args, os.LookupEnv); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(stdout, "ledger-write accepts commits into the ledger in a directory. Its flags, each also an environment variable LEDGER_NAME:")
			flags.SetOutput(stdout)
			flags.PrintDefaults()
			return server.ExitStopped
		}
		fmt.Fprintln(stderr, "ledger-write:", err)
		return server.ExitUsage
	}
	if *version {
		fmt.Fprintln(stdout, "ledger-write", server.Version)
		return server.ExitStopped
	}
	if wrong := check(&c, flags, *format); wrong != "" {
		fmt.Fprintln(stderr, "ledger-write:", wrong)
		return server.ExitUsage
	}
	c.Log = slog.New(slog.NewTextHandler(stderr, nil))
	if *format == "json" {
		c.Log = slog.New(slog.NewJSONHandler(stderr, nil))
	}
	server.TuneMemory()
	err := server.RunWrite(server.SignalContext(), c)
	if err != nil {
		c.Log.Error("stopped", "error", err)
	}
	return server.ExitCode(err)
}

// define makes a flag for every setting.
func define(flags *flag.FlagSet, c *server.WriteConfig) {
	flags.StringVar(&c.Dir, "dir", "", "directory of the commit log; made if missing (required)")
	flags.StringVar(&c.Listen, "listen", c.Listen, "address to listen on; port 0 for any")
	flags.IntVar(&c.IdempotencyKeys, "idempotency-keys", c.IdempotencyKeys, "how many of the last commits with an idempotency key are remembered")
	flags.Int64Var(&c.SegmentSize, "segment-size", c.SegmentSize, "bytes of a segment of the log, from its birth on")
	flags.Int64Var(&c.MaxBody, "max-body", c.MaxBody, "limit on the body of a commit, preflight or registration, in bytes")
	flags.Int64Var(&c.MaxBatchBody, "max-batch-body", c.MaxBatchBody, "limit on the body of a batch request, in bytes")
	flags.Int64Var(&c.MaxInflight, "max-inflight", c.MaxInflight, "limit on the bodies of all requests that are not answered yet, in bytes")
	flags.IntVar(&c.MaxNesting, "max-nesting", c.MaxNesting, "limit on levels of JSON in a body")
	flags.IntVar(&c.Queue, "queue", c.Queue, "limit on requests that wait to be sequenced")
	flags.Uint64Var(&c.MaxLag, "max-lag", c.MaxLag, "commits that the slowest read daemon may be behind before the health is degraded; 0 for no bound")
	flags.DurationVar(&c.Timeouts.Header, "header-timeout", c.Timeouts.Header, "limit on sending a request's header")
	flags.DurationVar(&c.Timeouts.Read, "read-timeout", c.Timeouts.Read, "limit on sending a whole request")
	flags.DurationVar(&c.Timeouts.Write, "write-timeout", c.Timeouts.Write, "limit on taking an answer")
	flags.DurationVar(&c.Timeouts.Idle, "idle-timeout", c.Timeouts.Idle, "limit on a connection's silence between requests")
	flags.DurationVar(&c.Timeouts.Shutdown, "shutdown-timeout", c.Timeouts.Shutdown, "limit on answering what is in progress when stopping")
	flags.BoolVar(&c.LogAll, "log-requests", false, "log every request, not only those that failed here")
}

// check says what is wrong with the settings, "" for nothing.
func check(c *server.WriteConfig, flags *flag.FlagSet, format string) string {
	switch {
	case flags.NArg() > 0:
		return fmt.Sprintf("unexpected argument %q: all settings are flags", flags.Arg(0))
	case c.Dir == "":
		return "-dir is required: the directory of the commit log"
	case format != "text" && format != "json":
		return fmt.Sprintf("-log-format is text or json, not %q", format)
	}
	if err := c.Validate(); err != nil {
		return err.Error()
	}
	return ""
}
