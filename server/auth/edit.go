package auth

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// TokenPrefix begins every token that NewToken makes, so that secret scanners
// can find one that was leaked.
const TokenPrefix = "alt_"

// NewToken returns a token of 256 random bits: 47 characters that need no
// escaping anywhere.
func NewToken() string {
	var b [32]byte
	rand.Read(b[:])
	return TokenPrefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// Edit changes the file at path, following symbolic links: change gets its lines
// and returns the new ones. Edit checks the result as a whole and replaces the
// file in one step, so that a daemon that reads it meanwhile sees the old one or
// the new one. Concurrent edits wait for each other. A missing file is created,
// for its owner alone.
func Edit(path string, change func(lines []string) ([]string, error)) error {
	f, err := lockFile(path)
	if err != nil {
		return err
	}
	defer f.Close() // releases the lock, too
	if path, err = realPath(path, f); err != nil {
		return err
	}
	var old bytes.Buffer
	if _, err := old.ReadFrom(f); err != nil {
		return err
	}
	if old.Len() > 0 {
		if err := whole(old.String()); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	var lines []string
	if text := strings.TrimRight(old.String(), "\n"); text != "" {
		lines = strings.Split(text, "\n")
	}
	if lines, err = change(lines); err != nil {
		return err
	}
	text := strings.Join(lines, "\n") + "\n"
	if _, err := Parse(text); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return replace(path, f, text)
}

// realPath returns the path of f without symbolic links. If Edit replaced the
// link instead, a daemon that was given the file's own name would keep the old
// content. The same holds for a second hard link, which can't be followed.
func realPath(path string, f *os.File) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if now, err := os.Stat(real); err != nil || !os.SameFile(info, now) {
		return "", fmt.Errorf("%s was replaced meanwhile: try again", path)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink > 1 {
		return "", fmt.Errorf("%s has %d names (hard links), and the others would keep the old content: use a symbolic link instead; nothing was changed", path, stat.Nlink)
	}
	return real, nil
}

// lockFile opens the file and locks it, and makes sure that the name still leads
// to the locked file.
func lockFile(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			f.Close()
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		mine, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, err
		}
		if now, err := os.Stat(path); err == nil && os.SameFile(mine, now) {
			return f, nil
		}
		f.Close() // another edit has replaced it meanwhile
	}
}

// replace replaces old with a new file of the same mode and owner.
func replace(path string, old *os.File, text string) (err error) {
	info, err := old.Stat()
	if err != nil {
		return err
	}
	next, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	defer func() {
		next.Close()
		if err != nil {
			os.Remove(next.Name())
		}
	}()
	if err := sameOwner(next, info); err != nil {
		return err
	}
	if _, err := next.WriteString(text); err != nil {
		return err
	}
	if err := next.Sync(); err != nil {
		return err
	}
	if err := os.Rename(next.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// sameOwner gives the file the mode and owner of another: a daemon that could
// read the old one must be able to read the new one.
func sameOwner(f *os.File, like fs.FileInfo) error {
	if err := f.Chmod(like.Mode().Perm()); err != nil {
		return err
	}
	stat, ok := like.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) == os.Geteuid() && int(stat.Gid) == os.Getegid() {
		return nil
	}
	return f.Chown(int(stat.Uid), int(stat.Gid))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Add adds an entry to the file. It returns ErrTaken for a name that exists,
// unless again is set: then the client gets a further credential. handOut, if
// not nil, gives the credential to the client before it is valid. If that
// fails, the file stays as it was.
func Add(path string, e Entry, again bool, handOut func() error) error {
	if err := e.check(); err != nil {
		return err
	}
	return Edit(path, func(lines []string) ([]string, error) {
		for _, line := range lines {
			if words := strings.Fields(line); len(words) > 0 && words[0] == e.Name && !again {
				return nil, ErrTaken
			}
		}
		if handOut != nil {
			if err := handOut(); err != nil {
				return nil, err
			}
		}
		return append(lines, e.String()), nil
	})
}

// ErrTaken is returned by Add for a name that has a credential already.
var ErrTaken = errors.New("the name has a credential already")

// ErrNobody is returned by Revoke when no line has the name.
var ErrNobody = errors.New("no such credential")

// Revoke removes the lines of a name from the file or, with digits, only the one
// whose hash begins with them. It returns the removed entries.
func Revoke(path, name, digits string) (out []Entry, err error) {
	err = Edit(path, func(lines []string) ([]string, error) {
		var kept []string
		for _, line := range lines {
			e, err := ParseEntry(strings.TrimSpace(line))
			if err == nil && e.Name == name && strings.HasPrefix(fmt.Sprintf("%x", e.Hash), digits) {
				out = append(out, e)
				continue
			}
			kept = append(kept, line)
		}
		if len(out) == 0 {
			return nil, ErrNobody
		}
		return kept, nil
	})
	return out, err
}

// HashToken returns the hash of a token, as the file stores it.
func HashToken(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }
