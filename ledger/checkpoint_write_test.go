package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"
)

type failingWriter struct{ left int }

func (w *failingWriter) Write(b []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, os.ErrClosed
	}
	return len(b), nil
}

func TestCheckpointWriteErrors(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped with -short: it writes a large checkpoint many times")
	}
	s := stocked(t, 2, 200_000)
	for n := 0; ; n++ {
		err := s.WriteCheckpoint(&failingWriter{n}, testPlace)
		if err == nil {
			if n < 4 {
				t.Errorf("the checkpoint took %d writes, want at least 4", n)
			}
			break
		}
		if !errors.Is(err, os.ErrClosed) {
			t.Fatal(err)
		}
	}
}

func BenchmarkCheckpoint(b *testing.B) {
	for _, n := range []int{1_000_000} {
		s := stocked(b, n/10, 10)
		file := checkpointOf(b, s)
		b.Run(fmt.Sprintf("write/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var w bytes.Buffer
				w.Grow(len(file))
				if err := s.WriteCheckpoint(&w, testPlace); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(file))/float64(n), "B/stack")
		})
		b.Run(fmt.Sprintf("load/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				loadCheckpoint(b, file, 0)
			}
		})
	}
}
