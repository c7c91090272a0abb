package wal

import "sync"

// An Appender makes frames durable, one after the other: a Writer.
type Appender interface {
	Append(*Frame) error
}

// A Batch is a frame on its way, and those who wait for it. Before hand-over
// it belongs to the one who fills it; after Done is closed, to everybody, for
// reading.
type Batch struct {
	Frame Frame
	done  chan struct{}
	err   error
}

// NewBatch makes an empty batch that uses body[:0] for its records.
func NewBatch(body []byte) *Batch {
	return &Batch{Frame: Frame{Body: body[:0]}, done: make(chan struct{})}
}

// Add appends one record.
func (b *Batch) Add(record []byte) {
	b.Frame.Body = AppendRecord(b.Frame.Body, record)
	b.Frame.Count++
}

// Done is closed when the batch is durable, or never will be: see Err. The one
// close wakes all who wait.
func (b *Batch) Done() <-chan struct{} { return b.done }

// Err is what Append gave; call it after Done is closed.
func (b *Batch) Err() error { return b.err }

// A Syncer appends batches in its own goroutine. It takes one only when it is
// idle: so the sync itself is the clock of group commit, and there are no
// timers. A sequencer fills one batch while another is synced:
//
//	for {
//		var in chan<- *wal.Batch // nil: never ready
//		if filling.Frame.Count > 0 {
//			in = syncer.In()
//		}
//		queue := requests
//		if len(filling.Frame.Body) > full {
//			queue = nil // the batch must go first
//		}
//		select {
//		case r := <-queue:
//			// if the batch is empty: writer.Room() first; then execute, filling.Add, r waits for filling.Done()
//		case in <- filling:
//			filling = wal.NewBatch(nextBody())
//		}
//	}
//
// When a batch fails, with whatever error, the state has run ahead of the log:
// all that is executed later must fail too. Append sees to it, for the next
// frame no longer follows the log's end; the server answers "outcome unknown",
// and exits. Asking Writer.Room before executing keeps ErrNoSpace from coming
// up here.
type Syncer struct {
	in   chan *Batch
	done sync.WaitGroup
	once sync.Once
}

// NewSyncer starts the goroutine. From then on only it may call Append.
func NewSyncer(a Appender) *Syncer {
	s := &Syncer{in: make(chan *Batch)}
	s.done.Go(func() {
		for b := range s.in {
			b.err = a.Append(&b.Frame)
			close(b.done)
		}
	})
	return s
}

// In takes batches; sending succeeds when the syncer is idle.
func (s *Syncer) In() chan<- *Batch { return s.in }

// Close returns when the batch that was handed over last is done. Nobody may
// send any more.
func (s *Syncer) Close() {
	s.once.Do(func() { close(s.in) })
	s.done.Wait()
}
