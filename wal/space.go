package wal

// FrameSize returns the number of bytes in a segment that a batch takes whose body
// has the given length.
func FrameSize(body int) int64 { return frameSize(body) }

// SegmentFree returns the number of bytes left for batches in the current segment.
// Any goroutine may call it.
func (w *Writer) SegmentFree() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.room
}
