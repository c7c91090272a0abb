// Package reader is the read daemon. It follows the log, applies each batch to a
// projection in memory, and answers reads from it.
//
//	log → tailer → projection → reading → response
//
// Run starts from a checkpoint, catches up with the log, listens and serves. The
// tailer has one goroutine. It changes the projection one batch at a time, under a
// lock that reads share. Between two batches it makes checkpoints when that is this
// daemon's duty. Reads of commits go to the log itself, through a few pooled
// readers.
//
// The main invariant: a read sees the state between two batches, never a part of
// one. Its response names the last commit of that state. The exceptions are reads of the
// past and a daemon with -until: they show the state after the requested commit, which
// may be in the middle of a batch. While there are too few file descriptors to read
// the next batch, the tailer keeps trying. If a batch can't be read for another reason,
// or leads to a different state than the write daemon's, the daemon answers no more
// reads and ends.
//
// A Core is the read daemon without HTTP or goroutines, for simulations.
package reader
