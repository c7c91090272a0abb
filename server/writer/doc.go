// Package writer is the write daemon. It accepts transactions, judges them one
// after another, makes them durable in batches, and acknowledges them.
//
//	handler → intake → sequencer → batch → syncer → group done → response
//
// Run recovers and replays the log, listens, and serves until it is stopped or the log
// fails. In a cluster, it listens first, and stands by until the daemon becomes the
// writer. Before Run returns, it answers the requests that it has accepted, and closes
// the log, unless the last batch does not become durable in time. Each request has a
// goroutine for its handler. The sequencer has one goroutine, which owns the state. The
// syncer has one, which waits for the disk while the sequencer fills the next batch.
//
// The main invariant: no response is sent before the state that its request was
// judged against is durable. This includes rejections. The state is ahead of the log. So
// once the log has failed, nothing more is judged, and a panic in the sequencer
// ends the process.
//
// A Core is the write daemon without HTTP or goroutines, for simulations.
package writer
