// Command ledger-read is the read daemon: it follows the commit log of a
// directory and answers reads of the ledger over HTTP.
package main

import (
	"io"
	"os"

	"assetledger/server"
	"assetledger/server/reader"
	"assetledger/server/settings"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	c := reader.DefaultConfig()
	return server.Main(program(&c), &c, args, stdout, stderr)
}

// program defines a flag for every setting.
func program(c *reader.Config) *settings.Program {
	return server.NewProgram("ledger-read", "serves reads of the ledger in a directory.", c)
}
