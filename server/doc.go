// Package server joins the ledger and its log behind HTTP, as two daemons.
//
// The write daemon: a request is read and decoded by its own goroutine, judged
// and applied by the sequencer, made durable with its batch by the log, and
// then answered. The read daemon: the tailer follows the log and applies its
// batches to a projection; requests read the projection under a shared lock
// and say at which sequence number it stood.
//
//	request → exchange → ledger.Parse… → sequencer → wal → answer
//	                                          wal → tailer → projection → answer
package server
