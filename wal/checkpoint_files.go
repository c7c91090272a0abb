package wal

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
)

// Checkpoints are files beside the log; what is in them is not for wal to know.
//
//	DIR/ckpt/LOCK              flock held by the one who makes checkpoints
//	DIR/ckpt/next.tmp          the next one, being written
//	DIR/ckpt/<20 digits>.ckpt  a whole one, named by its global_seq
//
// A checkpoint gets its name when its bytes are durable. The newest two stay:
// should the newest turn out to be bad, there is another.

// keptCheckpoints is how many stay.
const keptCheckpoints = 2

// CheckpointPath is the file of the checkpoint at seq.
func CheckpointPath(dir string, seq uint64) string {
	return join(dir, ckptDir, seqName(seq, ckptExt))
}

// ListCheckpoints gives the global_seqs of the checkpoints of DIR, rising.
func ListCheckpoints(dir string, o Options) ([]uint64, error) {
	return listSeqs(o.withDefaults().FS, join(dir, ckptDir), ckptExt)
}

// ClaimCheckpoints takes the duty of making checkpoints, until it is closed:
// ErrLocked if another has it.
func ClaimCheckpoints(dir string, o Options) (io.Closer, error) {
	lock, err := o.withDefaults().FS.Lock(join(dir, ckptDir, lockName))
	if err != nil {
		return nil, err
	}
	return lock, nil
}

// OpenCheckpoint reads a checkpoint from its beginning.
func OpenCheckpoint(dir string, seq uint64, o Options) (io.ReadCloser, error) {
	f, err := o.withDefaults().FS.Open(CheckpointPath(dir, seq), false)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{sequential(f), f}, nil
}

// sequential reads a file from its beginning, in large pieces.
func sequential(f File) io.Reader {
	const whole = 1<<63 - 1
	return bufio.NewReaderSize(io.NewSectionReader(f, 0, whole), copyBufSize)
}

// WriteCheckpoint makes the checkpoint at seq of what write writes, durably,
// and then removes all but the newest two. Only who has claimed the duty may
// call it. After an error there is no such checkpoint.
func WriteCheckpoint(dir string, seq uint64, o Options, write func(io.Writer) error) error {
	fsys, d := o.withDefaults().FS, join(dir, ckptDir)
	if err := writeNamed(fsys, d, seqName(seq, ckptExt), write); err != nil {
		return err
	}
	return pruneCheckpoints(fsys, dir)
}

// writeNamed makes a file in a directory by way of a temporary one, durably.
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
		fsys.Remove(tmp) // gives its space back; else the next attempt removes it
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
