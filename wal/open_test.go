package wal

import (
	"errors"
	"os"
	"testing"
)

// TestPrepareChangesNothing prepares logs that a start would change: with a
// torn tail, without END, with a damaged END. Each log can be read up to the
// place where it will continue. Nothing on disk changes before Start.
func TestPrepareChangesNothing(t *testing.T) {
	for name, harm := range map[string]func(d *damage){
		"clean": func(*damage) {},
		"torn tail": func(d *damage) {
			patch(t, join(segmentsPath(d.dir), d.head.name()), d.off+100, flip, 1)
		},
		"no END":      func(d *damage) { os.Remove(join(d.dir, endName)) },
		"damaged END": func(d *damage) { patch(t, join(d.dir, endName), 50, flip, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			var last uint64
			dir := damaged(t, func(d *damage) { last = d.last; harm(d) })
			everything := func() string {
				lock, err := os.ReadFile(join(dir, lockName))
				if err != nil {
					t.Fatal(err)
				}
				return snapshot(t, dir) + string(lock)
			}
			before := everything()
			w, err := Prepare(dir, small())
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Append(testFrame(last+1, 1, 1)); !errors.Is(err, errNotStarted) {
				t.Errorf("append before Start: got %v, want errNotStarted", err)
			}
			r, err := w.OpenReader()
			if err != nil {
				t.Fatal(err)
			}
			if got := readAll(t, r); got != last || w.LastSeq() != last {
				t.Errorf("read up to %d, the writer would continue after %d, want %d", got, w.LastSeq(), last)
			}
			r.Close()
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			if everything() != before {
				t.Error("something was changed before Start")
			}
			w = mustOpen(t, dir, small())
			fill(t, w, 1, 10)
		})
	}
}
