// Command bench compares the ledger with other systems on this machine, and
// writes a table of goals, most of them ratios:
//
//	build the programs → install and start the peers → rows, each in alternating rounds → table, picture
//
// Every row compares within one run: its probes take turns, forwards in one
// round and backwards in the next, and a ratio is the median of the rounds'
// ratios. A row whose setup takes a long time has only one round. Every server listens on
// the loopback interface, keeps its files in one temporary directory, and is stopped by a
// signal to its process id. The bench is not part of the three programs; `make bench`
// runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A bench is one run: its settings and the processes that it has started.
type bench struct {
	ctx     context.Context
	rounds  int
	slice   time.Duration // how long one probe measures
	stacks  int           // of the large ledger
	commits int           // in the log that is replayed
	history int           // commits of the log whose past is read
	install bool
	dir     string // temporary, removed at the end
	bin     string // directory of the built programs
	before  string // directory of the programs of an older version; "": none
	wrk     string // path of the load generator; "": absent
	skipped []string
	started []*process
	log     *os.File
	picture *picture
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "bare" {
		serveBare(os.Args[2])
		return
	}
	if len(os.Args) == 4 && os.Args[1] == "lone" {
		os.Exit(lone(os.Args[2], os.Args[3]))
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	b := &bench{picture: &picture{}}
	quick := flags.Bool("quick", false, "few short rounds and small ledgers: a smoke test, not a measurement")
	only := flags.String("only", "", "run only the rows whose name matches this regular expression")
	out := flags.String("out", "bench-out", "directory for the table and the picture")
	list := flags.Bool("list", false, "list the rows and exit")
	flags.IntVar(&b.rounds, "rounds", 5, "alternating rounds of each row")
	flags.DurationVar(&b.slice, "slice", 3*time.Second, "how long each probe runs in a round")
	flags.IntVar(&b.stacks, "stacks", 10_000_000, "stacks of the large ledger")
	flags.IntVar(&b.commits, "commits", 4_000_000, "commits in the log that is replayed")
	flags.IntVar(&b.history, "history", 20_000_000, "commits of the log whose past is read")
	flags.BoolVar(&b.install, "install", true, "install absent peers with apt-get when root")
	flags.StringVar(&b.before, "before", "", "directory with the programs of an older version, whose replay is measured too")
	temp := flags.String("dir", os.TempDir(), "parent of the temporary directory, on the disk to measure")
	flags.Parse(args)
	if *quick {
		b.rounds, b.slice, b.stacks, b.commits, b.history = 1, 300*time.Millisecond, 100_000, 100_000, 50_000
	}
	if *list {
		for _, r := range rows() {
			fmt.Printf("%-12s %s\n", r.name, r.what)
		}
		return nil
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(rows(), func(r row) bool { return match.MatchString(r.name) }) {
		return fmt.Errorf("no row matches -only %q: -list lists them; join several with |", *only)
	}
	var stop context.CancelFunc
	b.ctx, stop = signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if b.dir, err = os.MkdirTemp(*temp, "ledger-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	defer b.stopAll()
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	return b.all(match, *out)
}

// all builds the programs, runs the matching rows, and writes the results.
func (b *bench) all(match *regexp.Regexp, out string) error {
	var err error
	if b.log, err = os.Create(filepath.Join(out, "processes.log")); err != nil {
		return err
	}
	defer b.log.Close()
	if err := os.Chmod(b.dir, 0o711); err != nil { // a peer may run as another user
		return err
	}
	if err := b.build(); err != nil {
		return err
	}
	r := &report{machine: describe(b.dir), began: time.Now(), rounds: b.rounds, slice: b.slice}
	b.findWrk()
	for _, row := range rows() {
		if !match.MatchString(row.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: %s: %s\n", row.name, row.what)
		result, err := b.row(row)
		b.stopAll()
		if b.ctx.Err() != nil {
			return b.ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s failed: %v\n", row.name, err)
			result.failed = err.Error()
		}
		r.results = append(r.results, result)
	}
	r.skipped = b.skipped
	text := r.text()
	fmt.Print(text)
	if err := os.WriteFile(filepath.Join(out, "table.txt"), []byte(text), 0o644); err != nil {
		return err
	}
	if err := b.picture.write(filepath.Join(out, "commit-time.svg")); err != nil {
		return err
	}
	for _, res := range r.results {
		if res.failed != "" {
			return fmt.Errorf("%s failed: %s", res.row.name, res.failed)
		}
	}
	return nil
}

// skip adds a line to the report's list of what was skipped, unless the line is
// already there.
func (b *bench) skip(what, why string) {
	text := what + ": " + strings.TrimSpace(why)
	for _, s := range b.skipped {
		if s == text {
			return
		}
	}
	b.skipped = append(b.skipped, text)
}
