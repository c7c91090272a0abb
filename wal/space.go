package wal

// FrameSize returns the bytes of a segment that a batch with a body of this length takes.
func FrameSize(body int) int64 { return frameSize(body) }

// SegmentFree returns the bytes that the current segment has left for batches.
// Any goroutine may call it.
func (w *Writer) SegmentFree() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.room
}
