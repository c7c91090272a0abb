// Command hostile attacks a ledger of its own. It prints the latency of a well-behaved
// client's commits, how many of them were rejected, and the peak memory use of each
// daemon. The figures in the table in SECURITY.md come from this command.
//
//	go run ./server/hostile [-programs DIR] [-for TIME] [-only NAME] [-together] [-defaults]
//
// Each attack runs against fresh daemons. With -together, all attacks run at
// once, and the exit code is 1 if a daemon used more memory than SECURITY.md
// states, or if the write daemon rejected a commit of the well-behaved client.
// The write daemon runs with a small -max-inflight and -max-batch-body. With
// -defaults, it runs with their defaults, and request bodies are larger.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

var (
	programs = flag.String("programs", "", "`DIR` with ledger-write and ledger-read; by default they are built")
	duration = flag.Duration("for", 10*time.Second, "`TIME` of each attack")
	only     = flag.String("only", "", "`NAME` of the one attack to run")
	together = flag.Bool("together", false, "run all attacks at once, and check the limits of SECURITY.md")
	defaults = flag.Bool("defaults", false, "leave the settings of the write daemon at their defaults")
	client   = flag.String("client", "", "act as the well-behaved client of the daemon at `ADDRESS`, and print its measurements as JSON")
)

// A scale holds the limits of the write daemon, in bytes, and the size of the
// attacks.
type scale struct {
	maxInflight, maxBody int64
	times                int // factor for the number of transactions in large batches
}

var (
	small = scale{64 << 20, 12 << 20, 1}
	full  = scale{256 << 20, 64 << 20, 5} // the defaults
)

// mostWrite and mostRead are the limits on the daemons' anonymous memory, in
// bytes, as SECURITY.md states them: three times the largest live memory, plus
// what every daemon needs.
func (s scale) mostWrite() int64 { return 3*(s.maxInflight+state) + 96<<20 }

const (
	mostRead = 3*(readInflight+logReaders+state+index) + 96<<20

	readInflight = 32 << 20 // the default
	logReaders   = 32 << 20 // commits that are being rendered, in eight log readers
	state        = 32 << 20 // about 100,000 stacks
	index        = 64 << 20 // of the history: one generation that grows, and one that is being written
)

func main() {
	flag.Parse()
	if *client != "" {
		json.NewEncoder(os.Stdout).Encode(behave(*client, *duration))
		return
	}
	ok, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run() (ok bool, err error) {
	folder := *programs
	if folder == "" {
		if folder, err = os.MkdirTemp("", "hostile-"); err != nil {
			return false, err
		}
		defer os.RemoveAll(folder)
		if err := build(folder); err != nil {
			return false, err
		}
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return false, err
	}
	size := small
	if *defaults {
		size = full
	}
	fmt.Println("| attack | commits/s | p50 | p99 | longest | rejected | write daemon | read daemon |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	if *together {
		n, err := play(folder, size, "all at once", attacks(size))
		return n.within(size), err
	}
	for _, a := range attacks(size) {
		if *only == "" || *only == a.name {
			if _, err := play(folder, size, a.name, []attack{a}); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// play runs attacks against fresh daemons, and a well-behaved client at the
// same time.
func play(folder string, size scale, name string, list []attack) (noticed, error) {
	l, err := start(folder, size)
	if err != nil {
		return noticed{}, err
	}
	defer l.remove()
	for _, a := range list {
		if a.prepare != nil {
			if err := a.prepare(l); err != nil {
				return noticed{}, fmt.Errorf("%s: %w", a.name, err)
			}
		}
	}
	stop := make(chan struct{})
	for _, a := range list {
		for range a.clients {
			go a.play(l, stop)
		}
	}
	time.Sleep(time.Second) // let the attack get going
	highest := l.watch(stop)
	n, err := l.behave(*duration)
	close(stop)
	if err != nil {
		return n, err
	}
	n.write, n.read = highest()
	fmt.Printf("| %s | %.0f | %s | %s | %s | %d of %d | %d MiB | %d MiB |\n", name, float64(len(n.Took))/duration.Seconds(),
		n.quantile(0.5), n.quantile(0.99), n.quantile(1), n.Refused, n.Refused+len(n.Took), n.write>>20, n.read>>20)
	return n, nil
}
