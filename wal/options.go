package wal

import (
	"crypto/rand"
	"io"
	"time"
)

// Options configure a log; zero fields take the defaults.
type Options struct {
	SegmentSize int64        // bytes; default 64 MiB; a multiple of 4096, at least 64 KiB; fixed when a segment is made
	Now         func() int64 // unix nanoseconds; default the system clock
	FS          FS           // default: the operating system's
	Rand        io.Reader    // for the log id; default crypto/rand

	// Origin makes a new log begin as another did, or with one of its segments, to
	// be filled by AppendCopy. A
	// log that exists already must have its id. Default: a log of its own.
	Origin *Origin
	// Copy opens a directory that MarkCopy has marked, which Open otherwise refuses.
	Copy bool

	// OnSync is called by Append after each sync of a frame with the time it took; may be nil.
	OnSync func(time.Duration)
	// OnNotice is called by Open with what recovery did, for people; may be nil.
	OnNotice func(text string)

	// Manual starts no goroutine: spares are made when one is needed, and
	// the caller calls SyncEnd. For simulation.
	Manual bool

	spareRetry time.Duration // between attempts on a full disk; default 1 s
	spareWait  time.Duration // for a spare that is being made; default 10 s
	endSync    time.Duration // between syncs of END; default 1 s
}

func (o Options) withDefaults() Options {
	if o.SegmentSize == 0 {
		o.SegmentSize = DefaultSegmentSize
		if o.Origin != nil {
			o.SegmentSize = o.Origin.SegmentSize
		}
	}
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixNano() }
	}
	if o.FS == nil {
		o.FS = OS{}
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.OnNotice == nil {
		o.OnNotice = func(string) {}
	}
	if o.spareRetry == 0 {
		o.spareRetry = time.Second
	}
	if o.spareWait == 0 {
		o.spareWait = 10 * time.Second
	}
	if o.endSync == 0 {
		o.endSync = time.Second
	}
	return o
}

// readRandom fills b.
func readRandom(o Options, b []byte) (int, error) { return io.ReadFull(o.Rand, b) }
