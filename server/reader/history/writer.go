package history

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"assetledger/wal"
)

// A writer writes a file. The entries must arrive ordered by key and then by
// commit.
type writer struct {
	out     io.Writer
	err     error // the first error
	offset  uint64
	head    []byte
	keys    []uint64
	rows    []byte
	entries uint64
	split   [][]byte

	key    uint64
	group  []byte // encoded entries of key in the block
	before uint64 // key of the previous group in the block
	block  []byte
	row    row
	open   bool // the block has at least one entry

	carrier carrier
	carried uint64 // container of recent
	recent  []byte // its entries since the file began, or the previous run and all entries after it
	left    int    // number of entries before the next run
}

func newWriter(out io.Writer, id wal.LogID, first uint64, before uint32) *writer {
	w := &writer{out: out, head: header(version, id, first, before)}
	w.write(w.head)
	return w
}

func (w *writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(b)
	}
	w.offset += uint64(len(b))
}

// add adds an entry, given without its length. If a run of carried entries
// is due, it adds that first.
func (w *writer) add(key uint64, entry []byte) {
	if key&lifeMark != 0 {
		w.put(key, entry)
		return
	}
	if key != w.carried || w.entries == 0 {
		w.carried, w.recent, w.left = key, w.recent[:0], carryAfter
	}
	if w.left == 0 {
		run := w.carrier.run(entrySeq(entry), func(fn func([]byte) bool) { eachNewest(w.recent, fn) })
		w.recent, w.left = w.recent[:0], nextRun(len(run))
		for _, c := range run {
			w.put(key, c)
			w.recent = append(append(w.recent, c...), byte(len(c)))
		}
	}
	w.left--
	w.put(key, entry)
	w.recent = append(append(w.recent, entry...), byte(len(entry)))
	w.entries++
}

// wholeBytes returns the maximum size of a group that is added whole. Such a group fits
// in a block, and has too few entries for a run: each takes at least seven bytes.
func wholeBytes() int { return min(7*carryAfter, blockBytes/2) }

// addGroup adds all entries of a key.
func (w *writer) addGroup(key uint64, group []byte, entries int) {
	if len(group) <= wholeBytes() {
		w.addWhole(key, group, entries)
	} else if err := w.addEach(key, group); err != nil && w.err == nil {
		w.err = err
	}
}

// addWhole adds all entries of a key at once. They take at most wholeBytes.
func (w *writer) addWhole(key uint64, group []byte, entries int) {
	w.begin(key, group)
	w.group = append(w.group, group...)
	if key&lifeMark == 0 {
		w.entries += uint64(entries)
	}
}

// addEach adds the entries of a group, except carried ones.
func (w *writer) addEach(key uint64, group []byte) error {
	entries := w.split[:0]
	for len(group) > 0 {
		entry, rest, err := lastEntry(group)
		if err != nil {
			return err
		}
		entries, group = append(entries, entry), rest
	}
	for _, entry := range slices.Backward(entries) {
		if key&lifeMark != 0 || !isCarried(entry) { // this file has runs of its own
			w.add(key, entry)
		}
	}
	w.split = entries
	return nil
}

// put appends an entry.
func (w *writer) put(key uint64, entry []byte) {
	w.begin(key, entry)
	w.group = append(append(w.group, entry...), byte(len(entry)))
}

// begin prepares the block for one entry of a key, or for a group of them.
func (w *writer) begin(key uint64, entries []byte) {
	if w.open && len(w.block)+len(w.group)+len(entries)+24 > blockBytes {
		w.endBlock()
	}
	if len(w.keys) == 0 || w.keys[len(w.keys)-1] != key {
		w.keys = append(w.keys, key)
	}
	if !w.open {
		w.open, w.key, w.before = true, key, key
		w.row = row{key: key, seq: entrySeq(entries), offset: w.offset}
	}
	if key != w.key {
		w.endGroup()
		w.key = key
	}
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

// finish writes the parts after the blocks.
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

// createFile durably writes the file of a span, through a temporary one.
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

// A buffered writer collects small writes.
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
