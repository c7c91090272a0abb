package history

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sort"

	"assetledger/wal"
)

// A file is an open file of the index. It never changes, and remains readable after
// its name is removed. Rows and filter are in memory. Blocks are read when needed,
// and checked each time. A file is never closed explicitly, since views may use it
// longer than the index does: the garbage collector closes an unreachable os.File.
type file struct {
	span
	name   string
	size   int64
	before uint32
	end    wal.Place
	in     wal.File
	keys   filter
	rows   []byte
	count  uint64 // number of changes
}

// errDamaged means that the content of a file is not what was written.
var errDamaged = errors.New("the file is damaged")

// errOther means that a file has another version, belongs to another log, or does not
// begin with the commit in its name.
var errOther = errors.New("the file has another version, or belongs to another log or to other commits")

// openFile opens a file and checks everything except its blocks.
func openFile(fsys wal.FS, dir string, s span, id wal.LogID) (*file, error) {
	f := &file{span: s, name: join(dir, s.name())}
	in, err := fsys.Open(f.name, false)
	if err != nil {
		return nil, err
	}
	f.in = in
	if err := f.load(id); err != nil {
		in.Close()
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	return f, nil
}

func (f *file) load(id wal.LogID) (err error) {
	if f.size, err = f.in.Size(); err != nil {
		return err
	}
	if f.size < headerBytes+footerBytes {
		return errDamaged
	}
	head, foot := make([]byte, headerBytes), make([]byte, footerBytes)
	if err := f.read(head, 0); err != nil {
		return err
	}
	if err := f.read(foot, f.size-footerBytes); err != nil {
		return err
	}
	f.before = binary.LittleEndian.Uint32(head[36:])
	if checksum(head[:60]) != binary.LittleEndian.Uint32(head[60:]) {
		return errDamaged
	}
	v := binary.LittleEndian.Uint32(head[8:])
	if v < bareVersion || v > version || string(head) != string(header(v, id, f.first, f.before)) || f.first == 1 && f.before != 0 {
		return errOther
	}
	foots, ok := parseFooter(head, foot)
	if !ok || foots.place.Seq != f.last || foots.end != uint64(f.size-footerBytes) || foots.filter < headerBytes ||
		foots.filter >= foots.rows || foots.rows > foots.end || (foots.end-foots.rows)%rowBytes != 0 {
		return errDamaged
	}
	f.end, f.count = foots.place, foots.entries
	rest := make([]byte, foots.end-foots.filter)
	if err := f.read(rest, int64(foots.filter)); err != nil {
		return err
	}
	f.keys, f.rows = filter(rest[:foots.rows-foots.filter]), rest[foots.rows-foots.filter:]
	if checksum(f.keys) != foots.filterCRC || checksum(f.rows) != foots.rowCRC {
		return errDamaged
	}
	return nil
}

// read reads a part of the file. After an error it tries once more, so that a
// temporary error has no effect. A part that can't be read counts as damaged.
func (f *file) read(b []byte, at int64) error {
	_, err := f.in.ReadAt(b, at)
	if err != nil {
		_, err = f.in.ReadAt(b, at)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return nil
}

func (f *file) blocks() int   { return len(f.rows) / rowBytes }
func (f *file) row(i int) row { return parseRow(f.rows[i*rowBytes:]) }

// block reads and checks a block.
func (f *file) block(i int, buf []byte) ([]byte, error) {
	r := f.row(i)
	if r.length > 1<<20 {
		return nil, &damageError{f, errDamaged}
	}
	if int(r.length) > cap(buf) {
		buf = make([]byte, max(int(r.length), blockBytes))
	}
	buf = buf[:r.length]
	if err := f.read(buf, int64(r.offset)); err != nil {
		return nil, &damageError{f, err}
	}
	if checksum(buf) != r.crc {
		return nil, &damageError{f, fmt.Errorf("%w: the checksum of the block at %d is wrong", errDamaged, r.offset)}
	}
	return buf, nil
}

// each calls fn for the groups of a block, in order, until fn returns false.
func (f *file) each(i int, block []byte, fn func(key uint64, group []byte) bool) error {
	key := f.row(i).key
	for len(block) > 0 {
		more, n := binary.Uvarint(block)
		if n <= 0 {
			return &damageError{f, errEntry}
		}
		length, m := binary.Uvarint(block[n:])
		if m <= 0 || length > uint64(len(block)-n-m) {
			return &damageError{f, errEntry}
		}
		key += more
		if !fn(key, block[n+m:n+m+int(length)]) {
			return nil
		}
		block = block[n+m+int(length):]
	}
	return nil
}

// group returns the entries of a key in a block, or nil if it has none.
func (f *file) group(i int, key uint64, buf []byte) (group, block []byte, err error) {
	if block, err = f.block(i, buf); err != nil {
		return nil, buf, err
	}
	err = f.each(i, block, func(k uint64, g []byte) bool {
		if k == key {
			group = g
		}
		return k < key
	})
	return group, block, err
}

// after returns the index of the first block whose first entry has a higher key, or
// the same key and a later commit than seq.
func (f *file) after(key, seq uint64) int {
	return sort.Search(f.blocks(), func(i int) bool {
		r := f.row(i)
		return r.key > key || r.key == key && r.seq > seq
	})
}

// newest calls fn for the entries of a key with seq <= to, newest first, as long as
// fn returns goOn. An entry is valid only during the call.
func (f *file) newest(key, to uint64, fn func(entry []byte) step) (step, error) {
	if !f.keys.has(key) {
		return goOn, nil
	}
	var err error
	var buf, group []byte
	for i := f.after(key, to) - 1; i >= 0; i-- {
		if group, buf, err = f.group(i, key, buf); err != nil {
			return stop, err
		}
		for len(group) > 0 {
			entry, rest, err := lastEntry(group)
			if err != nil {
				return stop, &damageError{f, err}
			}
			if entrySeq(entry) <= to {
				if next := fn(entry); next != goOn {
					return next, nil
				}
			}
			group = rest
		}
		if f.row(i).key < key {
			break
		}
	}
	return goOn, nil
}

// oldest calls fn for the entries of a key with seq >= from, oldest first, until fn
// returns false.
func (f *file) oldest(key, from uint64, fn func(entry []byte) bool) (on bool, err error) {
	if !f.keys.has(key) {
		return true, nil
	}
	var buf, group []byte
	var places []int
	for i := max(f.after(key, max(from, 1)-1)-1, 0); i < f.blocks() && f.row(i).key <= key; i++ {
		if group, buf, err = f.group(i, key, buf); err != nil {
			return false, err
		}
		places = places[:0]
		for rest := group; len(rest) > 0; {
			entry, before, err := lastEntry(rest)
			if err != nil {
				return false, &damageError{f, err}
			}
			if entrySeq(entry) < from {
				break
			}
			places = append(places, len(before), len(before)+len(entry))
			rest = before
		}
		for j := len(places) - 2; j >= 0; j -= 2 {
			if !fn(group[places[j]:places[j+1]]) {
				return false, nil
			}
		}
	}
	return true, nil
}

// eachNewest calls fn for the entries of a group, newest first, until fn returns
// false.
func eachNewest(group []byte, fn func(entry []byte) bool) {
	for len(group) > 0 {
		entry, rest, err := lastEntry(group)
		if err != nil || !fn(entry) {
			return
		}
		group = rest
	}
}

// countEntries returns the number of entries in a group.
func countEntries(group []byte) (n int, err error) {
	for ; len(group) > 0 && err == nil; n++ {
		_, group, err = lastEntry(group)
	}
	return n, err
}

// lastEntry splits the last entry off a group.
func lastEntry(group []byte) (entry, rest []byte, err error) {
	n := int(group[len(group)-1])
	start := len(group) - 1 - n
	if n == 0 || start < 0 {
		return nil, nil, errEntry
	}
	return group[start : len(group)-1], group[:start], nil
}
