// Package commitlog is the seam between the daemons and the log that keeps the
// commits: the interfaces that a log must have, and its first driver, "file",
// which is package wal in a directory.
//
// The write daemon has one Writer: Replay first, then Append for each batch,
// one at a time, then Close. A read daemon has one Source: Register its name,
// Open a Reader, Next until Close. Checkpoints beside the log are a
// CheckpointStore.
//
// The rule that reaches farthest: a commit is in the log exactly once, in the
// order of its global_seq, and whoever replays the log arrives at the same
// state. A Replayer compares the digest of the state after each batch with the
// one that the write daemon stored. When they differ it returns a *ReplayError,
// and the daemon must end, because it would serve wrong balances.
package commitlog
