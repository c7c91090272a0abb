package wal

import (
	"fmt"
	"hash/crc32"
	"sync/atomic"
	"testing"
	"time"
)

var benchSizes = []int{128, 4 << 10, 64 << 10, 1 << 20}

// BenchmarkFrame measures encoding a frame with its CRCs.
func BenchmarkFrame(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := testFrame(1, 1, n)
			var buf []byte
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				buf, _ = appendFrame(buf[:0], f, 1, 2)
			}
		})
	}
}

func BenchmarkAppendSync(b *testing.B) {
	for _, n := range benchSizes[:3] {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := mustOpen(b, b.TempDir(), Options{})
			f := testFrame(1, 1, n)
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				f.First = w.LastSeq() + 1
				if err := w.Append(f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkScan measures reading a log from the page cache, through a Reader.
func BenchmarkScan(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			fillUnsynced(b, dir, n)
			var frames, bytes int64
			b.ReportAllocs()
			r := mustReader(b, dir, Options{})
			for b.Loop() {
				f, err := r.Next()
				if err == ErrEnd {
					if err := r.Seek(1); err != nil {
						b.Fatal(err)
					}
					continue
				}
				if err != nil {
					b.Fatal(err)
				}
				frames++
				bytes += frameSize(len(f.Body))
			}
			b.ReportMetric(float64(bytes)/1e6/b.Elapsed().Seconds(), "MB/s")
			b.ReportMetric(float64(frames)/b.Elapsed().Seconds(), "frames/s")
		})
	}
}

// fillUnsynced writes a log of about 48 MiB, in one segment.
func fillUnsynced(b *testing.B, dir string, n int) {
	w := mustOpen(b, dir, Options{FS: noSync{}, Manual: true})
	f := testFrame(1, 1, n)
	for w.seg.fits(frameSize(len(f.Body))) && w.seg.off < 48<<20 {
		f.First = w.LastSeq() + 1
		if err := w.Append(f); err != nil {
			b.Fatal(err)
		}
	}
	w.Close()
}

// BenchmarkSeek measures seeking to a random place in a segment that was read
// before.
func BenchmarkSeek(b *testing.B) {
	dir := b.TempDir()
	fillUnsynced(b, dir, 128)
	r := mustReader(b, dir, Options{})
	last := r.Durable()
	if err := r.Seek(last); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	seq := uint64(1)
	for b.Loop() {
		seq = (seq*6364136223846793005 + 1442695040888963407)
		if err := r.Seek(seq%last + 1); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWake measures the time from the writer's store to the reader's
// return from Wait.
func BenchmarkWake(b *testing.B) {
	w := mustOpen(b, b.TempDir(), Options{})
	r := mustReader(b, w.dir, Options{})
	var stored atomic.Int64
	woke := make(chan int64)
	quit := make(chan struct{})
	start := time.Now()
	go func() {
		for seq := uint64(0); ; {
			if r.Wait(seq, time.Second); r.Durable() <= seq {
				select {
				case <-quit:
					return
				default:
					continue
				}
			}
			seq = r.Durable()
			woke <- int64(time.Since(start)) - stored.Load()
		}
	}()
	var sum int64
	for n := uint64(1); b.Loop(); n++ {
		time.Sleep(50 * time.Microsecond) // let the reader block
		stored.Store(int64(time.Since(start)))
		w.storeEnd(n)
		sum += <-woke
	}
	close(quit)
	b.ReportMetric(float64(sum)/float64(b.N), "ns/wake")
}

// BenchmarkStoreEnd measures what advancing END costs Append, with no blocked
// reader.
func BenchmarkStoreEnd(b *testing.B) {
	for _, manual := range []bool{true, false} {
		b.Run(fmt.Sprintf("inline=%v", manual), func(b *testing.B) {
			w := mustOpen(b, b.TempDir(), Options{Manual: manual})
			for n := uint64(1); b.Loop(); n++ {
				w.storeEnd(n)
			}
		})
	}
}

// BenchmarkCRC measures the checksum of a frame's body.
func BenchmarkCRC(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			body := make([]byte, n)
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				crc32.Update(1, castagnoli, body)
			}
		})
	}
}

// TestFramesAllocateNothing checks that neither encoding a frame into a reused
// buffer nor reading one allocates.
func TestFramesAllocateNothing(t *testing.T) {
	dir := t.TempDir()
	w := mustOpen(t, dir, Options{Manual: true})
	f, buf := testFrame(1, 10, 1000), []byte(nil)
	if n := testing.AllocsPerRun(100, func() { buf, _ = appendFrame(buf[:0], f, 1, 2) }); n != 0 {
		t.Errorf("encoding a frame: %v allocations, want 0", n)
	}
	const frames = 200
	for range frames {
		f.First = w.LastSeq() + 1
		if err := w.Append(f); err != nil {
			t.Fatal(err)
		}
	}
	r := mustReader(t, dir, Options{})
	next := func() {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	next()
	if n := testing.AllocsPerRun(frames/2, next); n != 0 {
		t.Errorf("reading a frame: %v allocations, want 0", n)
	}
}
