// Command ledgerctl is the ledger's tool for people and scripts; see package ctl.
package main

import (
	"os"

	"assetledger/ctl"
)

func main() {
	os.Exit(ctl.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.LookupEnv))
}
