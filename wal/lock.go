package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// A logLock makes its holder the only one that writes a log: a lock on LOCK,
// and one on END. LOCK is easily removed by hand, because it looks like what a
// crash has left; END is what the writer has mapped, so a second writer meets
// the lock on it as long as the log is the same.
type logLock struct{ lock, end File }

// lockLog locks the log in dir. END need not exist; see lockEnd.
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

// lockEnd locks END, unless that was done before.
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

// logLocked reports whether somebody writes the log in dir.
func logLocked(fsys FS, dir string) (bool, error) {
	for _, name := range []string{lockName, endName} {
		locked, err := fsys.Locked(join(dir, name))
		if locked || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return locked, err
		}
	}
	return false, nil
}

// errOtherWriter ends a writer whose log was opened for writing by another.
var errOtherWriter = fmt.Errorf("another write daemon has opened the log since: was %s or %s removed?", lockName, endName)

const (
	lockTries    = 50
	lockInterval = 2 * time.Millisecond
)

// lockPatiently locks a file; those who only ask FS.Locked hold the lock for a
// moment, so it tries for 100 ms.
func lockPatiently(fsys FS, path string) (lock File, err error) {
	for range lockTries {
		if lock, err = fsys.Lock(path); !errors.Is(err, ErrLocked) {
			return lock, err
		}
		time.Sleep(lockInterval)
	}
	return nil, err
}
