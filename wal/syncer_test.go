package wal

import (
	"errors"
	"testing"
)

// A gate is an Appender that waits to be let through.
type gate struct {
	entered chan *Frame
	leave   chan error
}

func (g *gate) Append(f *Frame) error { g.entered <- f; return <-g.leave }

func TestSyncerTakesWhenIdle(t *testing.T) {
	g := &gate{make(chan *Frame), make(chan error)}
	s := NewSyncer(g)
	one, two := NewBatch(nil), NewBatch(nil)
	one.Add([]byte("a"))
	s.In() <- one
	if f := <-g.entered; f != &one.Frame || f.Count != 1 {
		t.Fatal("another frame")
	}
	select {
	case s.In() <- two:
		t.Fatal("taken while busy")
	case <-one.Done():
		t.Fatal("done too early")
	default:
	}
	g.leave <- nil
	<-one.Done()
	if one.Err() != nil {
		t.Fatal(one.Err())
	}
	s.In() <- two
	<-g.entered
	want := errors.New("no")
	g.leave <- want
	<-two.Done()
	if two.Err() != want {
		t.Fatal(two.Err())
	}
	s.Close()
	s.Close()
}

// TestSyncerLoop is the sequencer's loop of the documentation.
func TestSyncerLoop(t *testing.T) {
	dir := t.TempDir()
	w := mustOpen(t, dir, Options{SegmentSize: minSegment})
	s := NewSyncer(w)
	const requests, clients = 2000, 8
	type request struct{ done chan *Batch }
	queue := make(chan request, 16)
	finished := make(chan error, clients)
	for range clients {
		go func() {
			for range requests / clients {
				r := request{make(chan *Batch, 1)}
				queue <- r
				b := <-r.done
				<-b.Done()
				if b.Err() != nil {
					finished <- b.Err()
					return
				}
			}
			finished <- nil
		}()
	}
	filling := NewBatch(nil)
	filling.Frame.First = 1
	for done := 0; done < clients; {
		var in chan<- *Batch
		if filling.Frame.Count > 0 {
			in = s.In()
		}
		select {
		case err := <-finished:
			if err != nil {
				t.Fatal(err)
			}
			done++
		case r := <-queue:
			if filling.Frame.Count == 0 {
				if err := w.Room(); err != nil {
					t.Fatal(err)
				}
			}
			filling.Add([]byte("record"))
			r.done <- filling
		case in <- filling:
			next := NewBatch(nil)
			next.Frame.First = filling.Frame.Last() + 1
			filling = next
		}
	}
	s.Close()
	if w.LastSeq() != requests {
		t.Fatalf("last is %d", w.LastSeq())
	}
	w.Close()
	v, err := Verify(dir, VerifyOptions{})
	if err != nil || v.Commits != requests {
		t.Fatalf("%+v, %v", v, err)
	}
	t.Logf("%d commits in %d batches", v.Commits, v.Frames)
}
