package ctl

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"assetledger/wal"
)

// The wal commands read a log's directory directly, with or without a running write
// daemon. They see what is durable and change nothing.

// logFlags select the log.
type logFlags struct{ dir string }

// defaultDir is the directory in which ledgerctl dev, and so make run, keeps a log.
const defaultDir = "ledger-data"

func (l *logFlags) declare(set *flag.FlagSet) {
	set.StringVar(&l.dir, "dir", defaultDir, "`DIR` of the log, as given to ledger-write; the same as the word DIR")
}

// explain adds what to do to an error of opening the log.
func (l *logFlags) explain(err error) error {
	if at, serr := os.Stat(l.dir); err != nil && serr == nil && !at.IsDir() {
		return fmt.Errorf("there is no log in %s: it is a file, not a directory", l.dir)
	}
	if errors.Is(err, wal.ErrNoLog) {
		return fmt.Errorf("there is no log in %s: name the directory of ledger-write, as DIR or in LEDGER_DIR", l.dir)
	}
	return err
}

// present returns an error if there is no log.
func (l *logFlags) present() error { return l.explain(wal.CheckPresent(l.dir, wal.Options{})) }
