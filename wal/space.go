package wal

// FrameSize returns the number of bytes that a batch takes in a segment, given the
// length of its body.
func FrameSize(body int) int64 { return frameSize(body) }

// SegmentFree returns the number of bytes left for batches in the current segment.
// Any goroutine may call it.
func (w *Writer) SegmentFree() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.room
}
