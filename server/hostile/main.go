// Command hostile attacks a ledger of its own and prints what a well-behaved
// client notices: how long its commits take, and how many are refused. Its
// table is in SECURITY.md.
//
//	go run ./server/hostile [-programs DIR] [-for TIME] [-only NAME] [-together]
//
// Each attack runs against fresh daemons. With -together all run at once, and
// the exit code is 1 if a daemon used more memory than SECURITY.md states, or
// the write daemon refused the well-behaved client.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

var (
	programs = flag.String("programs", "", "`DIR` with ledger-write and ledger-read; without it they are built")
	duration = flag.Duration("for", 10*time.Second, "`TIME` of each attack")
	only     = flag.String("only", "", "`NAME` of the one attack to run")
	together = flag.Bool("together", false, "run all attacks at once, and check the bound")
)

// Settings of the write daemon. The largest body and what is made of it fit in
// the budget.
const (
	maxInflight = 64 << 20
	maxBody     = 12 << 20
)

// mostWrite and mostRead bound the anonymous memory of the daemons, as SECURITY.md
// states it: three times what may be alive, and what a daemon needs anyway.
const (
	mostWrite = 3*(maxInflight+state) + 96<<20
	mostRead  = 3*(readInflight+logReaders+state+index) + 96<<20

	readInflight = 32 << 20 // the default
	logReaders   = 32 << 20 // commits that are being made, in eight readers of the log
	state        = 32 << 20 // some 100,000 stacks
	index        = 64 << 20 // of the history: one generation that grows, and one that is being written
)

func main() {
	flag.Parse()
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
	fmt.Println("| attack | commits/s | p50 | p99 | longest | refused | write daemon | read daemon |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	if *together {
		n, err := play(folder, "all at once", attacks)
		return n.within(), err
	}
	for _, a := range attacks {
		if *only == "" || *only == a.name {
			if _, err := play(folder, a.name, []attack{a}); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// play runs attacks against fresh daemons, and a well-behaved client beside.
func play(folder, name string, list []attack) (noticed, error) {
	l, err := start(folder)
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
	time.Sleep(time.Second) // let the attack unfold
	highest := l.watch(stop)
	n := l.behave(*duration)
	close(stop)
	n.write, n.read = highest()
	fmt.Printf("| %s | %.0f | %s | %s | %s | %d of %d | %d MiB | %d MiB |\n", name, float64(len(n.took))/duration.Seconds(),
		n.quantile(0.5), n.quantile(0.99), n.quantile(1), n.refused, n.refused+len(n.took), n.write>>20, n.read>>20)
	return n, nil
}
