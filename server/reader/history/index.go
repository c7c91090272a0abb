package history

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/wal"
)

func join(names ...string) string { return filepath.Join(names...) }

// Config of an index.
type Config struct {
	Dir    string           // of the log; the files are in its folder history; "": all stays in memory
	FS     wal.FS           // nil: the operating system's
	Source commitlog.Source // of the log, for making again what is missing; nil without Dir
	Log    *slog.Logger
	// Generation is how many bytes close a generation; 0: generationBytes.
	Generation int
	// Brief has the index hold the duty of writing the files only while it makes
	// one: the daemon stops somewhere, and others go on.
	Brief bool
}

// An Index is the index of one log. Begin, Change and Applied are the tailer's,
// under the lock of the projection that it changes; View is called under that
// lock too, shared.
type Index struct {
	c    Config
	dir  string
	fsys wal.FS

	Meter Meter
	poke  chan struct{} // there is something to do for Run
	loose chan struct{} // there is something to link

	pasts sync.Pool // of states that can be used again

	writing sync.Mutex // held while files are written

	open    *generation // the last one of gens; the tailer's
	pending uint32      // commits since it last woke the one that links; the tailer's

	mu    sync.Mutex
	begun bool
	id    wal.LogID
	gens  []*generation // oldest first; the last one is open
	files []*file       // oldest first, each following the one before
	ready bool          // files and gens have all, from base on
	lock  io.Closer     // nil while another daemon writes the files
}

// A Meter is what metrics and health tell.
type Meter struct {
	Files, Bytes, Built, Failed atomic.Uint64
	Done, Of                    atomic.Uint64 // commits, while the index is made again
}

// maxWaiting is how many closed generations may wait for becoming files.
const maxWaiting = 8

// New makes an index that has nothing.
func New(c Config) *Index {
	if c.FS == nil {
		c.FS = wal.OS{}
	}
	if c.Generation == 0 {
		c.Generation = generationBytes
	}
	return &Index{c: c, dir: join(c.Dir, "history"), fsys: c.FS, poke: make(chan struct{}, 1), loose: make(chan struct{}, 1)}
}

// Begin says after which place of which log the changes begin.
func (x *Index) Begin(id wal.LogID, after wal.Place) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.begun, x.id = true, id
	x.open = newGeneration(after)
	x.gens = []*generation{x.open}
	x.ready = x.c.Dir == "" && after.Seq == 0
	wake(x.poke)
}

// Change keeps a change of commit seq.
func (x *Index) Change(seq uint64, c *ledger.Change) { x.open.add(seq, c) }

// Applied ends a batch, of which the commits up to last were applied. If that is
// not all of it, nothing follows, and the generation stays open.
func (x *Index) Applied(f *wal.Frame, last uint64) {
	x.open.applied(f, last)
	if x.pending += f.Count; x.pending > linkAfter {
		x.pending = 0
		wake(x.loose)
	}
	if x.open.size() >= x.c.Generation && x.c.Dir != "" && last == f.Last() {
		x.Cut()
	}
}

// Cut closes the open generation. It is the tailer's, between two batches.
func (x *Index) Cut() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.open.end.Seq < x.open.first {
		return
	}
	x.open = newGeneration(x.open.end)
	x.gens = append(x.gens, x.open)
	if len(x.gens) > maxWaiting {
		x.gens, x.ready = x.gens[1:], false // made again from the log
	}
	wake(x.poke)
}

// wake makes who waits for c look again.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// linkAfter is the number of commits after which the tailer wakes the goroutine
// that links them. What is left is linked by the next reader, in some 100 µs.
const linkAfter = 500

// Link links all that was applied. Readers call it before they take the lock
// under which they take a view.
func (x *Index) Link() {
	x.mu.Lock()
	gens := x.gens
	x.mu.Unlock()
	for _, g := range gens {
		g.linking.Lock()
		g.link()
		g.linking.Unlock()
	}
}

// keepLinked links what is applied until stop is closed.
func (x *Index) keepLinked(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-x.loose:
			x.Link()
		}
	}
}

// A NotReadyError says that the index is being made.
type NotReadyError struct{ Done, Of uint64 }

func (e *NotReadyError) Error() string {
	return fmt.Sprintf("the index of the log is being made: %d of %d commits", e.Done, e.Of)
}

// Ready returns nil, or a NotReadyError.
func (x *Index) Ready() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.notReady()
}

func (x *Index) notReady() error {
	if x.begun && !x.ready {
		return &NotReadyError{x.Meter.Done.Load(), x.Meter.Of.Load()}
	}
	return nil
}

// covered is the last commit that the files have.
func covered(files []*file) uint64 {
	if len(files) == 0 {
		return 0
	}
	return files[len(files)-1].last
}

// View is the index of one container as it is now. The error is a NotReadyError.
func (x *Index) View(container int64) (*View, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.notReady(); err != nil {
		return nil, err
	}
	v := &View{x: x, container: container, files: x.files, covered: covered(x.files)}
	if !x.begun {
		return v, nil // there is no log yet
	}
	for _, g := range x.gens {
		if g.end.Seq >= g.first {
			things, lives := g.chainsOf(container)
			v.gens = append(v.gens, memory{g.first, g.end.Seq, things, lives, g.batches})
		}
	}
	v.last = x.gens[len(x.gens)-1].end.Seq
	if len(v.files) > 0 && v.files[0].first > 1 {
		v.base = v.files[0].last
	}
	return v, nil
}

// A damageError says which file is damaged.
type damageError struct {
	f    *file
	what error
}

func (e *damageError) Error() string { return e.f.name + ": " + e.what.Error() }
func (e *damageError) Unwrap() error { return e.what }

// damaged takes note of an error: a file that is damaged is removed, and made again.
func (x *Index) damaged(err error) error {
	var damage *damageError
	if !errors.As(err, &damage) {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, mine := range x.files {
		if mine == damage.f {
			x.c.Log.Warn("a file of the history index is damaged; it is made again", "file", mine.name, "reason", damage.what)
			x.ready, x.files = false, nil
			x.fsys.Remove(mine.name)
			wake(x.poke)
		}
	}
	return &NotReadyError{}
}
