package wal

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// A logLock makes its holder the only writer of a log. It is a lock on LOCK and
// another on END. People are tempted to remove LOCK by hand, because it looks
// like a leftover from a crash. The writer has END mapped, so a second writer that opens
// the same END always finds the lock on it.
type logLock struct{ lock, end File }

// lockLog locks the log in dir. If END does not exist yet, a writer calls lockEnd after
// it has created END.
func lockLog(fsys FS, dir string) (*logLock, error) {
	lock, err := lockPatiently(fsys, join(dir, lockName))
	if err != nil {
		return nil, err
	}
	l := &logLock{lock: lock}
	f, err := fsys.Open(join(dir, endName), false)
	if err == nil {
		err = errors.Join(f.Close(), l.lockEnd(fsys, dir))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.Close()
		return nil, err
	}
	return l, nil
}

// lockEnd locks END, unless l already holds that lock.
func (l *logLock) lockEnd(fsys FS, dir string) (err error) {
	if l.end == nil {
		l.end, err = lockPatiently(fsys, join(dir, endName))
	}
	return err
}

func (l *logLock) Close() error {
	err := l.lock.Close()
	if l.end != nil {
		err = errors.Join(err, l.end.Close())
	}
	return err
}

// boot returns the boot in which the log was last opened successfully, according to
// LOCK, or zero if LOCK does not say. LOCK is never synced, so it names the current
// boot only if it was written since the machine started.
func (l *logLock) boot() (id BootID, err error) {
	const at = len("boot ")
	b := make([]byte, lockSize)
	n, err := l.lock.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return id, err
	}
	if n == lockSize {
		if text, err := hex.DecodeString(string(b[at : at+2*len(id)])); err == nil {
			copy(id[:], text)
		}
	}
	return id, nil
}

// lockSize is the length of the text in LOCK.
const lockSize = 128

// logLocked reports whether a process has the log in dir open for writing.
func logLocked(fsys FS, dir string) (bool, error) {
	for _, name := range []string{lockName, endName} {
		locked, err := fsys.Locked(join(dir, name))
		if locked || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return locked, err
		}
	}
	return false, nil
}

// errOtherWriter is the error of a writer whose log was opened for writing by
// another process.
var errOtherWriter = fmt.Errorf("another write daemon has since opened the log: was %s or %s removed?", lockName, endName)

const (
	lockTries    = 50
	lockInterval = 2 * time.Millisecond
)

// lockPatiently locks a file. It retries for 100 ms, since a caller of FS.Locked
// holds the lock for a moment.
func lockPatiently(fsys FS, path string) (lock File, err error) {
	for range lockTries {
		if lock, err = fsys.Lock(path); !errors.Is(err, ErrLocked) {
			return lock, err
		}
		time.Sleep(lockInterval)
	}
	return nil, err
}
