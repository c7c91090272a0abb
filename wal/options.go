package wal

import (
	"crypto/rand"
	"io"
	"time"
)

// Options configure a log. Fields that are zero take the defaults.
type Options struct {
	SegmentSize int64        // bytes; default 64 MiB, or the size in Origin; a multiple of 4096, from 64 KiB to 4 GiB; fixed when a segment is created
	Now         func() int64 // Unix nanoseconds; default is the system clock
	FS          FS           // default is the operating system's
	Rand        io.Reader    // source of the log id; default is crypto/rand

	// Origin makes a new log begin as another log did, or with one of the other
	// log's segments. The new log is then filled with PutCopy or AppendCopy. If the
	// log exists already, it must have the id of the other log. If Origin is nil, the
	// new log is independent.
	Origin *Origin
	// Copy permits Open to open a directory that MarkCopy has marked.
	Copy bool

	// OnSync is called after each successful sync of frames or of a seal, with the
	// duration of the sync. It may be nil.
	OnSync func(time.Duration)
	// OnNotice is called by Open or Start with human-readable messages about what recovery
	// has changed. It may be nil.
	OnNotice func(text string)

	// Manual is for simulations: no goroutines are started, spares are created when
	// they are needed, and the caller calls SyncEnd and, for a copy, SyncCopy.
	Manual bool

	spareRetry time.Duration // pause between attempts while space or file descriptors are short; default 1 s
	spareWait  time.Duration // maximum wait for a spare that is being created; default 10 s
	endSync    time.Duration // interval of syncs of END; default 1 s
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

// readRandom fills b with random bytes from o.Rand.
func readRandom(o Options, b []byte) (int, error) { return io.ReadFull(o.Rand, b) }
