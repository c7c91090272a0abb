package wal

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
)

// Checkpoints are files in the log's directory. Package wal does not interpret
// their content.
//
//	DIR/ckpt/LOCK              flock held by the process that makes checkpoints
//	DIR/ckpt/next.tmp          the next one, being written
//	DIR/ckpt/<20 digits>.ckpt  a complete one, named by its global_seq
//
// A checkpoint gets its name after its bytes are durable. The newest two are kept,
// so that one is left if the newest turns out to be damaged.

// keptCheckpoints is the number of checkpoints that are kept.
const keptCheckpoints = 2

// CheckpointPath returns the path of the checkpoint at seq.
func CheckpointPath(dir string, seq uint64) string {
	return join(dir, ckptDir, seqName(seq, ckptExt))
}

// ListCheckpoints returns the global_seqs of the checkpoints of DIR in ascending
// order.
func ListCheckpoints(dir string, o Options) ([]uint64, error) {
	return listSeqs(o.withDefaults().FS, join(dir, ckptDir), ckptExt)
}

// ClaimCheckpoints makes the caller the only one that writes checkpoints, until it
// closes the result. It returns ErrLocked if another process has claimed them.
func ClaimCheckpoints(dir string, o Options) (io.Closer, error) {
	lock, err := o.withDefaults().FS.Lock(join(dir, ckptDir, lockName))
	if err != nil {
		return nil, err
	}
	return lock, nil
}

// OpenCheckpointFile opens the checkpoint at seq for random access.
func OpenCheckpointFile(dir string, seq uint64, o Options) (File, error) {
	return o.withDefaults().FS.Open(CheckpointPath(dir, seq), false)
}

// OpenCheckpoint opens the checkpoint at seq for reading from its beginning.
func OpenCheckpoint(dir string, seq uint64, o Options) (io.ReadCloser, error) {
	f, err := OpenCheckpointFile(dir, seq, o)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{sequential(f), f}, nil
}

// sequential returns a reader of the whole file that reads in large pieces.
func sequential(f File) io.Reader {
	const whole = 1<<63 - 1
	return bufio.NewReaderSize(io.NewSectionReader(f, 0, whole), copyBufSize)
}

// WriteCheckpoint durably creates the checkpoint at seq with the content that the
// function write produces. Then it removes all checkpoints but the newest two. The
// caller must have called ClaimCheckpoints. If write returns an error, the checkpoint
// does not exist. After any other error it may exist, and is then complete.
func WriteCheckpoint(dir string, seq uint64, o Options, write func(io.Writer) error) error {
	fsys, d := o.withDefaults().FS, join(dir, ckptDir)
	if err := writeNamed(fsys, d, seqName(seq, ckptExt), write); err != nil {
		return err
	}
	return pruneCheckpoints(fsys, dir)
}

// writeNamed durably creates a file in a directory by way of a temporary file.
func writeNamed(fsys FS, dir, name string, write func(io.Writer) error) error {
	tmp := join(dir, spareName)
	if err := fsys.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := fsys.Create(tmp)
	if err != nil {
		return err
	}
	err = write(io.NewOffsetWriter(f, 0))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = fsys.Rename(tmp, join(dir, name))
	}
	if err != nil {
		fsys.Remove(tmp) // frees its space; if it fails, the next attempt removes the file
		return err
	}
	return fsys.SyncDir(dir)
}

func pruneCheckpoints(fsys FS, dir string) error {
	d := join(dir, ckptDir)
	seqs, err := listSeqs(fsys, d, ckptExt)
	if err != nil {
		return err
	}
	for i := 0; i < len(seqs)-keptCheckpoints; i++ {
		if err := fsys.Remove(CheckpointPath(dir, seqs[i])); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
