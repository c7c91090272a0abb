// Gen writes a folder of small logs that every later version must read, with the
// expected responses from each:
//
//	FOLDER/NAME/log/…         the directory of a log, with its checkpoints, if any
//	FOLDER/NAME/expected.txt  lines "digest N HEX", then queries and their responses
//
// It is run once for each version of the format, with the first programs that write
// that version. After that the folder never changes. For example, for version 2:
//
//	go run ./testdata/formats/gen testdata/formats/v2
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen FOLDER, from the top of the repository; FOLDER must not exist")
		os.Exit(2)
	}
	if err := generate(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func generate(folder string) error {
	text, err := os.ReadFile("testdata/warehouse/transactions.ndjson")
	if err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err // an existing folder is never overwritten
	}
	txs := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, l := range []struct {
		name string
		make func(dir string, txs []string) error
	}{
		{"empty", func(dir string, _ []string) error { return play(dir, nil) }},
		{"warehouse", play},
		{"archived", archived},
		{"part2", playPart2},
		{"torn", func(dir string, txs []string) error { return torn(dir, txs[:20]) }},
	} {
		home := filepath.Join(folder, l.name)
		if err := os.Mkdir(home, 0o755); err != nil {
			return err
		}
		if err := oneLog(home, func(dir string) error { return l.make(dir, txs) }); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

// oneLog creates a log in a temporary directory, keeps the files that belong to its
// format, and records the responses from it.
func oneLog(home string, make func(dir string) error) error {
	work, err := os.MkdirTemp("", "ledger-formats-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	dir := filepath.Join(work, "log")
	if err := make(dir); err != nil {
		return err
	}
	if err := keep(dir, filepath.Join(home, "log")); err != nil {
		return err
	}
	expected, err := ask(dir)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, "expected.txt"), expected, 0o644)
}

// keep copies the files of a log, without locks, spares and the files of readers.
func keep(from, to string) error {
	for _, pattern := range []string{"END", "wal/*.seg", "ckpt/*.ckpt"} {
		files, err := filepath.Glob(filepath.Join(from, pattern))
		if err != nil {
			return err
		}
		for _, file := range files {
			name, _ := filepath.Rel(from, file)
			data, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(to, name), data, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
