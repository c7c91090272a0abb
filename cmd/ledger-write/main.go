// Command ledger-write is the write daemon: it accepts commits and
// registrations over HTTP and stores them in the commit log of a directory.
package main

import (
	"io"
	"os"

	"assetledger/server"
	"assetledger/server/settings"
	"assetledger/server/writer"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	c := writer.DefaultConfig()
	return server.Main(program(&c), &c, args, stdout, stderr)
}

// program defines a flag for every setting.
func program(c *writer.Config) *settings.Program {
	return server.NewProgram("ledger-write", "accepts commits into the ledger in a directory.", c)
}
