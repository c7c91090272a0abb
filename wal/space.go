package wal

// FrameSize is how many bytes of a segment a batch with a body of this length takes.
func FrameSize(body int) int64 { return frameSize(body) }

// SegmentFree is the room that the segment being written has for more batches,
// in bytes. Any goroutine may ask.
func (w *Writer) SegmentFree() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.room
}
