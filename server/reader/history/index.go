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

// Config configures an index.
type Config struct {
	Dir    string           // directory of the log; the files are in its subdirectory history; "" keeps everything in memory
	FS     wal.FS           // nil for the operating system's
	Source commitlog.Source // source of the log, to rebuild missing files; nil without Dir
	Log    *slog.Logger
	// Generation is the size in bytes at which a generation is closed; 0 means
	// generationBytes.
	Generation int64
	// Brief makes the index hold the duty of writing files only while it maintains
	// them. It is for a daemon that stops at some commit while other daemons
	// continue.
	Brief bool
}

// An Index is the index of one log. The tailer calls Begin and Applied while it holds
// the lock of the projection, and Cut between two batches, without the lock. View is
// called while the lock is held for reading.
type Index struct {
	c    Config
	dir  string
	fsys wal.FS

	Meter   Meter
	poke    chan struct{} // has a token when there is work for Run
	written chan struct{} // has a token when Run has made progress

	pasts sync.Pool // states that can be reused

	// writing is held while files are written, removed or looked for: a generation
	// that is being written must not be reused, and there is only one next.tmp. It is
	// acquired before mu, which is never held during a disk operation.
	writing sync.Mutex
	quit    atomic.Bool // Run must return: no merge may begin or continue

	open  *generation   // the last of gens; used by the tailer
	state *ledger.State // used by the tailer
	spare store

	mu      sync.Mutex
	begun   bool
	id      wal.LogID
	gens    []*generation // oldest first; the last one is open
	files   []*file       // oldest first; each follows the previous one
	ready   bool          // files and gens together have everything after base
	lock    io.Closer     // the duty of writing the files; nil if this daemon does not have it
	failing bool          // the last step of Run failed
	spoilt  []string      // damaged files, which Run must remove
}

// A Meter holds the values for metrics and health.
type Meter struct {
	Files, Bytes, Built, Failed atomic.Uint64
	Done, Of                    atomic.Uint64 // progress in commits, while the index is being rebuilt
}

const (
	// maxWaiting is the maximum number of generations in memory, including the open one.
	maxWaiting = 8
	// awaited is the number of closed generations that a tailer leaves waiting while it catches up.
	awaited = 2
)

// New returns an empty index.
func New(c Config) *Index {
	if c.FS == nil {
		c.FS = wal.OS{}
	}
	if c.Generation == 0 {
		c.Generation = generationBytes
	}
	return &Index{c: c, dir: join(c.Dir, "history"), fsys: c.FS, poke: make(chan struct{}, 1), written: make(chan struct{}, 1)}
}

// Begin sets the place in the log after which the index begins to record changes,
// and makes the state at that place report them.
func (x *Index) Begin(id wal.LogID, after wal.Place, state *ledger.State) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.begun, x.id, x.state = true, id, state
	x.open = newGeneration(after)
	x.open.note(state, &x.spare)
	x.gens = []*generation{x.open}
	x.ready = x.c.Dir == "" && after.Seq == 0
	wake(x.poke)
}

// Applied ends a batch. The parameter last is the last of its commits that was applied.
// If that is before the end of the batch, nothing follows, and the generation stays
// open.
func (x *Index) Applied(f *wal.Frame, last uint64) {
	x.open.applied(f, last)
	if x.open.size() >= x.c.Generation && x.c.Dir != "" && last == f.Last() {
		x.Cut()
	}
}

// Cut closes the open generation, unless it is empty. It is called between two batches.
func (x *Index) Cut() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.open.end.Seq < x.open.first {
		return
	}
	x.open = newGeneration(x.open.end)
	x.open.note(x.state, &x.spare)
	x.gens = append(x.gens, x.open)
	if len(x.gens) > maxWaiting {
		x.gens, x.ready = x.gens[1:], false // will be rebuilt from the log
	}
	wake(x.poke)
}

// wake wakes the goroutine that waits for c.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// A NotReadyError means that the index is being built.
type NotReadyError struct{ Done, Of uint64 }

func (e *NotReadyError) Error() string {
	return fmt.Sprintf("the index of the log is being built: %d of %d commits", e.Done, e.Of)
}

// Ready returns nil, or a *NotReadyError while the index is being built.
func (x *Index) Ready() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.notReady()
}

// Failing reports whether the last attempt to maintain the files failed, for example
// because of a disk error. Run keeps trying.
func (x *Index) Failing() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.failing
}

func (x *Index) notReady() error {
	if x.begun && !x.ready {
		return &NotReadyError{x.Meter.Done.Load(), x.Meter.Of.Load()}
	}
	return nil
}

// covered returns the last commit that the files cover, or 0.
func covered(files []*file) uint64 {
	if len(files) == 0 {
		return 0
	}
	return files[len(files)-1].last
}

// View returns the current index of one container. The error is a *NotReadyError.
func (x *Index) View(container int64) (*View, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.begun || x.open.end.Seq == 0 {
		return &View{x: x, container: container}, nil // there is no commit yet
	}
	if err := x.notReady(); err != nil {
		return nil, err
	}
	v := &View{x: x, container: container, files: x.files, covered: covered(x.files)}
	for _, g := range x.gens {
		if g.end.Seq >= g.first {
			g.viewed = true
			v.gens = append(v.gens, memory{g.first, g.end.Seq, g.chain(), g.batches})
		}
	}
	v.last = x.gens[len(x.gens)-1].end.Seq
	if len(v.files) > 0 && v.files[0].first > 1 {
		v.base = v.files[0].last
	}
	return v, nil
}

// A damageError names a damaged file.
type damageError struct {
	f    *file
	what error
}

func (e *damageError) Error() string { return e.f.name + ": " + e.what.Error() }
func (e *damageError) Unwrap() error { return e.what }

// damaged translates an error for the caller of a view. For a *damageError it
// returns a *NotReadyError. Run then removes the file and builds it again, unless
// another daemon writes the files.
func (x *Index) damaged(err error) error {
	var damage *damageError
	if !errors.As(err, &damage) {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, mine := range x.files {
		if mine == damage.f {
			x.c.Log.Warn("a file of the history index is damaged; it is rebuilt", "file", mine.name, "reason", damage.what)
			x.ready, x.files, x.spoilt = false, nil, append(x.spoilt, mine.name)
			wake(x.poke)
		}
	}
	return &NotReadyError{}
}
