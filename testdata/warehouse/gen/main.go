// Gen writes the warehouse scenario to the given directory: transactions.ndjson,
// refused.txt and expected.txt. It always writes the same bytes.
//
// Gen computes the expected responses with a small ledger of its own, which shares no
// code with the real one. If the two disagree, one of them is wrong.
//
//	go run ./testdata/warehouse/gen testdata/warehouse
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen DIRECTORY")
		os.Exit(2)
	}
	b := newBook()
	play(b)
	var expected bytes.Buffer
	b.answers(&expected)
	for name, content := range map[string][]byte{
		"transactions.ndjson": b.lines.Bytes(),
		"refused.txt":         b.refusals.Bytes(),
		"expected.txt":        expected.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), content, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "gen:", err)
			os.Exit(1)
		}
	}
}
