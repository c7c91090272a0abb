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

// TokenPrefix is the prefix of every token that NewToken returns, so that secret
// scanners can find leaked tokens.
const TokenPrefix = "alt_"

// NewToken returns a random token of 256 bits. It has 47 characters, none of which
// needs escaping anywhere.
func NewToken() string {
	var b [32]byte
	rand.Read(b[:])
	return TokenPrefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// Edit changes the file at path, and follows symbolic links. The function change gets the
// lines and returns the new ones. Edit checks the result as a whole and replaces the file
// atomically, so a daemon that reads it in the meantime sees either the old file or the
// new one. Concurrent edits wait for each other. A missing file is created, readable and
// writable only by its owner.
func Edit(path string, change func(lines []string) ([]string, error)) error {
	f, err := lockFile(path)
	if err != nil {
		return err
	}
	defer f.Close() // also releases the lock
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
// link instead, a daemon that was given the path of the file itself would keep
// reading the old content. A second hard link would cause the same problem,
// and can't be followed, so realPath rejects it.
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
		return "", fmt.Errorf("%s was replaced in the meantime: try again", path)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink > 1 {
		return "", fmt.Errorf("%s has %d names (hard links), and the others would keep the old content: use a symbolic link instead; nothing was changed", path, stat.Nlink)
	}
	return real, nil
}

// lockFile opens and locks the file. It ensures that path still refers to the locked
// file.
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
		f.Close() // another edit has replaced the file in the meantime
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

// sameOwner gives a file the mode and owner of another, so that a daemon that could
// read the old file can read the new one.
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

// Add adds an entry to the file. If the name exists, it returns ErrTaken, unless the
// argument again is set: the client then gets an additional credential. If handOut is not
// nil, Add calls it before the credential is valid, to hand the credential to the client.
// If handOut fails, Add adds nothing to the file.
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

// ErrTaken is the error that Add returns for a name that already has a credential.
var ErrTaken = errors.New("the name already has a credential")

// ErrNobody is the error that Revoke returns if no line matches.
var ErrNobody = errors.New("no such credential")

// Revoke removes all lines with the given name from the file. If digits is not empty, it
// removes only those whose hashes begin with these digits. It returns the removed
// entries.
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
