package history

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"assetledger/wal"
)

// A writer writes a file from entries that come by key, then by commit.
type writer struct {
	out     io.Writer
	err     error // the first
	offset  uint64
	head    []byte
	keys    []uint64
	rows    []byte
	entries uint64

	key    uint64
	group  []byte // entries of key in the block
	before uint64 // key of the group before in the block
	block  []byte
	row    row
	open   bool // the block has an entry
}

func newWriter(out io.Writer, id wal.LogID, first uint64, before uint32) *writer {
	w := &writer{out: out, head: header(id, first, before)}
	w.write(w.head)
	return w
}

func (w *writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(b)
	}
	w.offset += uint64(len(b))
}

// add adds an entry, which is without its length.
func (w *writer) add(key uint64, entry []byte) {
	if w.open && len(w.block)+len(w.group)+len(entry)+24 > blockBytes {
		w.endBlock()
	}
	if len(w.keys) == 0 || w.keys[len(w.keys)-1] != key {
		w.keys = append(w.keys, key)
	}
	if !w.open {
		w.open, w.key, w.before = true, key, key
		w.row = row{key: key, seq: entrySeq(entry), offset: w.offset}
	}
	if key != w.key {
		w.endGroup()
		w.key = key
	}
	w.group = append(append(w.group, entry...), byte(len(entry)))
	w.entries++
}

func (w *writer) endGroup() {
	w.block = binary.AppendUvarint(w.block, w.key-w.before)
	w.block = binary.AppendUvarint(w.block, uint64(len(w.group)))
	w.block = append(w.block, w.group...)
	w.before, w.group = w.key, w.group[:0]
}

func (w *writer) endBlock() {
	w.endGroup()
	w.row.length, w.row.crc = uint32(len(w.block)), checksum(w.block)
	w.rows = w.row.append(w.rows)
	w.write(w.block)
	w.block, w.open = w.block[:0], false
}

// finish writes what stands behind the blocks.
func (w *writer) finish(end wal.Place) error {
	if w.open {
		w.endBlock()
	}
	keys := newFilter(len(w.keys))
	for _, key := range w.keys {
		keys.add(key)
	}
	f := footer{filter: w.offset, entries: w.entries, place: end, filterCRC: checksum(keys), rowCRC: checksum(w.rows)}
	w.write(keys)
	f.rows = w.offset
	w.write(w.rows)
	f.end = w.offset
	w.write(f.append(w.head))
	return w.err
}

// createFile makes a file of the span durably, by way of a temporary one.
func createFile(fsys wal.FS, dir string, s span, write func(io.Writer) error) error {
	tmp := join(dir, tmpName)
	if err := fsys.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := fsys.Create(tmp)
	if err != nil {
		return err
	}
	buf := &buffered{out: io.NewOffsetWriter(f, 0)}
	if err = write(buf); err == nil {
		err = buf.flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = fsys.Rename(tmp, join(dir, s.name()))
	}
	if err != nil {
		fsys.Remove(tmp)
		return fmt.Errorf("writing %s: %w", s.name(), err)
	}
	return fsys.SyncDir(dir)
}

// A buffered writer gathers small writes.
type buffered struct {
	out io.Writer
	buf []byte
}

const bufferBytes = 256 << 10

func (b *buffered) Write(p []byte) (int, error) {
	b.buf = append(b.buf, p...)
	if len(b.buf) < bufferBytes {
		return len(p), nil
	}
	return len(p), b.flush()
}

func (b *buffered) flush() error {
	_, err := b.out.Write(b.buf)
	b.buf = b.buf[:0]
	return err
}
