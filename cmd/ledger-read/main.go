// Command ledger-read is the read daemon: it follows the commit log of a
// directory and answers reads of the ledger over HTTP.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"assetledger/server"
	"assetledger/server/settings"
	"assetledger/wal"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	flags := flag.NewFlagSet("ledger-read", flag.ContinueOnError)
	c := server.DefaultReadConfig()
	c.Ready = os.Stdout
	flags.StringVar(&c.Dir, "dir", "", "directory of the commit log, as the write daemon's (required)")
	flags.StringVar(&c.Listen, "listen", c.Listen, "address to listen on; port 0 for any")
	flags.StringVar(&c.Name, "name", c.Name, "name of this read daemon, unlike those of the others on the same log")
	flags.Int64Var(&c.MaxLag, "max-lag", 0, "commits behind the log beyond which the health is degraded; 0 for no bound")
	flags.Uint64Var(&c.Every, "checkpoint-every", c.Every, "commits between two checkpoints of the state on disk; one more is made when stopping; 0 for none")
	flags.IntVar(&c.Keys, "idempotency-keys", c.Keys, "how many idempotency keys checkpoints hold; the write daemon starts from those that hold as many as its own flag says")
	flags.DurationVar(&c.Poll, "poll", c.Poll, "longest sleep between two looks at the end of the log")
	flags.DurationVar(&c.Timeouts.Header, "header-timeout", c.Timeouts.Header, "limit on sending a request's header")
	flags.DurationVar(&c.Timeouts.Read, "read-timeout", c.Timeouts.Read, "limit on sending a whole request")
	flags.DurationVar(&c.Timeouts.Write, "write-timeout", c.Timeouts.Write, "limit on taking an answer")
	flags.DurationVar(&c.Timeouts.Idle, "idle-timeout", c.Timeouts.Idle, "limit on a connection's silence between requests")
	flags.DurationVar(&c.Timeouts.Shutdown, "shutdown-timeout", c.Timeouts.Shutdown, "limit on answering what is in progress when stopping")
	flags.BoolVar(&c.Page, "page", c.Page, "serve the page for people at /")
	flags.BoolVar(&c.LogAll, "log-requests", false, "log every request, not only those that failed here")
	format := flags.String("log-format", "text", "form of the log on standard error: text or json")
	version := flags.Bool("version", false, "print the version and exit")
	flags.SetOutput(io.Discard) // what is wrong is told once, below
	if err := settings.Parse(flags, args, os.LookupEnv); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Println("ledger-read serves reads of the ledger in a directory. Its flags, each also an environment variable LEDGER_NAME:")
			flags.SetOutput(os.Stdout)
			flags.PrintDefaults()
			return server.ExitStopped
		}
		fmt.Fprintln(os.Stderr, "ledger-read:", err)
		return server.ExitUsage
	}
	if *version {
		fmt.Println("ledger-read", server.Version)
		return server.ExitStopped
	}
	if wrong := check(c, flags, *format); wrong != "" {
		fmt.Fprintln(os.Stderr, "ledger-read:", wrong)
		return server.ExitUsage
	}
	c.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	if *format == "json" {
		c.Log = slog.New(slog.NewJSONHandler(os.Stderr, nil))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	err := server.RunRead(ctx, c)
	if err != nil {
		c.Log.Error("stopped", "error", err)
	}
	return server.ExitCode(err)
}

// check says what is wrong with the settings, "" for nothing.
func check(c server.ReadConfig, flags *flag.FlagSet, format string) string {
	switch {
	case flags.NArg() > 0:
		return fmt.Sprintf("unexpected argument %q: all settings are flags", flags.Arg(0))
	case c.Dir == "":
		return "-dir is required: the directory of the commit log"
	case c.Keys < 0:
		return "-idempotency-keys must be 0 or more"
	case wal.CheckReaderName(c.Name) != nil:
		return "-name: " + wal.CheckReaderName(c.Name).Error()
	case format != "text" && format != "json":
		return fmt.Sprintf("-log-format is text or json, not %q", format)
	case c.MaxLag < 0:
		return "-max-lag must be 0 or more"
	case c.Poll <= 0 || c.Poll > time.Minute:
		return "-poll must be more than 0 and at most 1m"
	}
	return ""
}
