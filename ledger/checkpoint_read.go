package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// A checkpointReader returns the items of a checkpoint, block by block. No byte
// reaches the state until the CRC of its block has been checked. Its buffer holds
// one block, at most 1 MiB. err keeps the first fault. From then on, next returns 0,
// and the values that other methods return mean nothing.
type checkpointReader struct {
	r        io.Reader
	head     CheckpointInfo
	salt     uint32
	sums     uint32
	blocks   uint64
	offset   int64  // offset of the block in the file
	buf      []byte // the items of the block
	pos      int    // position in buf
	over     bool   // the trailer was read
	longKeys bool   // an itemLongKey was read
	err      error
}

// fault records what is wrong and where. Only the first fault is kept.
func (d *checkpointReader) fault(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("block %d, at offset %d of the checkpoint: %w", d.blocks, d.offset, fmt.Errorf(format, args...))
	}
}

// full fills b completely, or records a fault and returns false.
func (d *checkpointReader) full(b []byte) bool {
	if d.err != nil {
		return false
	}
	if _, err := io.ReadFull(d.r, b); err == io.EOF || err == io.ErrUnexpectedEOF {
		d.fault("the checkpoint is cut short")
	} else if err != nil {
		d.fault("%w", err)
	}
	return d.err == nil
}

// begin reads the header.
func (d *checkpointReader) begin() error {
	b := make([]byte, checkpointHeader)
	if !d.full(b) {
		return d.err
	}
	if err := d.head.unmarshal(b); err != nil {
		d.err = err
	}
	d.salt, d.offset = binary.LittleEndian.Uint32(b[checkpointHeader-4:]), checkpointHeader
	return d.err
}

// next begins the next item and returns its kind. It returns 0 at the end of the items
// and after a fault.
func (d *checkpointReader) next() byte {
	if d.err == nil && !d.over && d.pos == len(d.buf) {
		d.nextBlock()
	}
	if d.err != nil || d.over {
		return 0
	}
	d.pos++
	return d.buf[d.pos-1]
}

// nextBlock reads and checks a block, or the trailer and the end of the file.
func (d *checkpointReader) nextBlock() {
	le := binary.LittleEndian
	var b [checkpointBlock]byte
	if d.buf != nil {
		d.offset += int64(checkpointBlock + len(d.buf))
		d.blocks++
	}
	if !d.full(b[:]) {
		return
	}
	n, number := le.Uint32(b[4:]), le.Uint64(b[8:])
	if n > maxBlock || number != d.blocks {
		d.fault("it has number %d and %d bytes, want number %d and at most %d bytes", number, n, d.blocks, maxBlock)
		return
	}
	if n == 0 {
		d.trailer(b[:])
		return
	}
	if cap(d.buf) < int(n) {
		d.buf = make([]byte, maxBlock)
	}
	d.buf, d.pos = d.buf[:n], 0
	if !d.full(d.buf) {
		return
	}
	if got, want := crc32.Update(blockSum(d.salt, b[4:]), castagnoli, d.buf), le.Uint32(b[:]); got != want {
		d.fault("the CRC of the block is %08x, but its bytes give %08x", want, got)
		return
	}
	d.sums = crc32.Update(d.sums, castagnoli, b[:4])
}

// trailer reads the rest of the trailer after its first 16 bytes.
func (d *checkpointReader) trailer(begin []byte) {
	le := binary.LittleEndian
	b := append(begin[:checkpointBlock:checkpointBlock], make([]byte, checkpointTrailer-checkpointBlock)...)
	if !d.full(b[checkpointBlock:]) {
		return
	}
	if got, want := blockSum(d.salt, b[4:]), le.Uint32(b); got != want {
		d.fault("the CRC of the trailer is %08x, but its bytes give %08x", want, got)
	} else if sums := le.Uint32(b[16:]); sums != d.sums || le.Uint32(b[20:]) != 0 {
		d.fault("the CRC of the blocks' CRCs is %08x, but they give %08x", sums, d.sums)
	}
	if n, err := io.ReadFull(d.r, make([]byte, 1)); n > 0 || err != io.EOF {
		d.fault("something follows the trailer: %v", err)
	}
	d.over = true
}

// number reads a number of at most limit.
func (d *checkpointReader) number(limit uint64) uint64 {
	if d.pos < len(d.buf) && d.buf[d.pos] < 0x80 && uint64(d.buf[d.pos]) <= limit {
		d.pos++
		return uint64(d.buf[d.pos-1])
	}
	v, n := binary.Uvarint(d.buf[d.pos:])
	if n <= 0 || v > limit || n > 1 && d.buf[d.pos+n-1] == 0 {
		d.fault("byte %d of the items does not begin a number of at most %d in its shortest form", d.pos, limit)
		return 0
	}
	d.pos += n
	return v
}

// between reads a number that is at least low and at most high.
func (d *checkpointReader) between(low, high uint64) uint64 {
	v := d.number(high)
	if v < low && d.err == nil {
		d.fault("the number that ends before byte %d of the items is %d, but must be at least %d", d.pos, v, low)
	}
	return v
}

// id reads a number of at least 1, such as an id or a quantity.
func (d *checkpointReader) id() int64 { return int64(d.between(1, math.MaxInt64)) }

// amount reads a number of at least 0.
func (d *checkpointReader) amount() int64 { return int64(d.number(math.MaxInt64)) }

// bytes reads n bytes without copying them.
func (d *checkpointReader) bytes(n int) []byte {
	if n > len(d.buf)-d.pos {
		d.fault("%d bytes at byte %d of the items are cut short", n, d.pos)
	}
	if d.err != nil {
		return nil
	}
	d.pos += n
	return d.buf[d.pos-n : d.pos]
}

// text reads a string of at most limit bytes without copying it.
func (d *checkpointReader) text(limit uint64) []byte { return d.bytes(int(d.number(limit))) }

// ReadCheckpoint returns the state in a checkpoint. It returns a state only if
// every block and the digest of the loaded state are correct. Errors wrap
// ErrCheckpointVersion, ErrCheckpointWindow or the reader's error, or describe
// the damage. Memory grows with the bytes read, whatever the header says.
func ReadCheckpoint(r io.Reader, c Config) (*State, CheckpointInfo, error) {
	d := checkpointReader{r: r}
	if err := d.begin(); err != nil {
		return nil, d.head, err
	}
	if want := uint64(max(c.IdempotencyKeys, 0)); !d.head.usable(want) {
		return nil, d.head, fmt.Errorf("%w: it holds the last %d, but %d are needed", ErrCheckpointWindow, d.head.Window, want)
	}
	l := newCheckpointLoader(&d, c)
	for kind := d.next(); kind != 0; kind = d.next() {
		l.item(kind)
	}
	if d.err == nil {
		l.finish()
	}
	if d.err != nil {
		return nil, d.head, d.err
	}
	return l.s, d.head, nil
}

// ReadCheckpointInfo returns the header of a checkpoint, and checks nothing else.
func ReadCheckpointInfo(r io.Reader) (CheckpointInfo, error) {
	d := checkpointReader{r: r}
	err := d.begin()
	return d.head, err
}

var errDigest = errors.New("the digest of its state does not match its header")

// sumsTo compares the state with the header.
func (d *checkpointReader) sumsTo(s *State) {
	place := d.head.CheckpointPlace
	got := s.checkpointInfo(place)
	got.Keys, got.Window = d.head.Keys, d.head.Window // not compared: the new state may keep fewer; finish has counted the keys
	got.version = s.checkpointVersion(d.longKeys)     // not memory.long: the state may store its keys in another form
	if got.Digest != d.head.Digest {
		d.err = fmt.Errorf("%w: %016x, but the header says %016x", errDigest, got.Digest, d.head.Digest)
	} else if got != d.head {
		d.err = fmt.Errorf("it holds %+v, but its header says %+v", got, d.head)
	}
}
