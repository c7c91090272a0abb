package ledger

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// ErrNewer is wrapped by the error of Decode for a record made by a newer version.
var ErrNewer = errors.New("ledger: made by a newer version of this program; use that version")

// Decode reads a record that AppendRecord made, and nothing else. Any other
// sequence of bytes gives an error that names the offset; the error wraps ErrNewer if
// only a newer version can have written these bytes. r is reused, and its slices alias b.
// After an error r must not be used.
func (r *Record) Decode(b []byte) error {
	d := recordDecoder{data: b}
	tx := &r.Tx
	*tx = Transaction{Ops: tx.Ops[:0], scratch: tx.scratch}
	r.Out.Reset()
	if len(b) > len(plainHead) && string(b[:len(plainHead)]) == plainHead {
		d.pos, tx.version = len(plainHead), recordVersion1
		if tx.Ops = append(tx.Ops, Op{}); d.plain(&tx.Ops[0]) && d.pos == len(b) {
			return nil
		}
		d.pos, tx.Ops = 0, tx.Ops[:0]
	}
	flags := d.header(tx)
	if flags != 0 {
		d.head(r, flags)
	}
	n := d.uvarint(MaxOperations, "number of operations")
	if d.err == nil && n == 0 {
		d.fail("a record without operations")
	}
	if d.err == nil { // allocate at once: growth in steps would leave five times as much garbage
		tx.Ops = slices.Grow(tx.Ops, min(int(n), len(b)-d.pos))
	}
	for i := 0; i < int(n) && d.err == nil; i++ {
		tx.Ops = append(tx.Ops, Op{})
		if op := &tx.Ops[i]; !d.plain(op) {
			d.operation(op, i, r)
		}
	}
	if d.err == nil && flags&recordHasFacts != 0 {
		d.facts(r)
	}
	if d.err == nil && d.pos < len(b) {
		d.fail("%d bytes after the last operation", len(b)-d.pos)
	}
	if d.err == nil {
		d.checkWhole(r)
	}
	tx.version = d.version
	return d.err
}

// A recordDecoder walks over a record. It keeps only the first fault, in err. What its
// methods return after that is meaningless.
type recordDecoder struct {
	data    []byte
	pos     int
	version byte
	part2   bool // something in the record needs version 2
	mints   int  // MintInstance operations so far
	err     error
}

// fail records what is wrong at the current position.
func (d *recordDecoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("ledger: bad record at byte %d of %d: %s", d.pos, len(d.data), fmt.Sprintf(format, args...))
	}
}

// newer sets the error for a record that has, at the current position, something that this
// program does not support. The checksums of the log are correct, or the record would not have
// been read. So the record is not damaged, but was made by a newer version.
func (d *recordDecoder) newer(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: byte %d of %d of the record: %s", ErrNewer, d.pos, len(d.data), fmt.Sprintf(format, args...))
	}
}

func (d *recordDecoder) byte() byte {
	if d.pos >= len(d.data) {
		d.fail("it ends too early")
		return 0
	}
	d.pos++
	return d.data[d.pos-1]
}

// uvarint reads a number of at most max, which is below 2^63.
func (d *recordDecoder) uvarint(max uint64, what string) uint64 {
	if d.pos < len(d.data) && d.data[d.pos] < 0x80 && uint64(d.data[d.pos]) <= max {
		d.pos++
		return uint64(d.data[d.pos-1])
	}
	return d.longUvarint(max, what)
}

func (d *recordDecoder) longUvarint(max uint64, what string) (v uint64) {
	for i, shift := d.pos, 0; i < len(d.data) && shift < 63; i, shift = i+1, shift+7 {
		c := d.data[i]
		v |= uint64(c&0x7f) << shift
		if c >= 0x80 {
			continue
		}
		switch {
		case c == 0 && shift > 0:
			d.fail("%s is not in its shortest form", what)
			return 0
		case v > max:
			d.fail("%s is %d, more than %d", what, v, max)
			return 0
		}
		d.pos = i + 1
		return v
	}
	d.fail("%s is cut short or beyond 2^63-1", what)
	return 0
}

// bytes reads n bytes without copying them.
func (d *recordDecoder) bytes(n int, what string) []byte {
	if n > len(d.data)-d.pos {
		d.fail("%s of %d bytes is cut short", what, n)
		return nil
	}
	d.pos += n
	return d.data[d.pos-n : d.pos : d.pos]
}

// header reads version and endpoint, and returns the flags.
func (d *recordDecoder) header(tx *Transaction) byte {
	d.version = d.byte()
	switch {
	case d.err != nil:
	case d.version < recordVersion1:
		d.pos--
		d.fail("version %d", d.version)
	case d.version > recordVersion2:
		d.pos--
		d.newer("version %d; this program supports versions %d to %d", d.version, recordVersion1, recordVersion2)
	}
	tx.Endpoint = Endpoint(d.byte())
	if tx.Endpoint > EndpointReverse {
		d.newer("unknown endpoint %d", tx.Endpoint)
	}
	flags := d.byte()
	if flags >= recordHasFacts<<1 {
		d.newer("unknown flags %#x", flags)
		return 0
	}
	d.part2 = flags&(recordHasReverses|recordHasFacts) != 0
	return flags
}

// head reads the optional parts that the flags announce.
func (d *recordDecoder) head(r *Record, flags byte) {
	if flags&recordHasKey != 0 {
		r.Tx.Key = d.bytes(int(d.byte()), "key")
		if d.err == nil && !ValidIdempotencyKey(r.Tx.Key) {
			d.fail("the key is not printable ASCII")
		}
		copy(r.Tx.Hash[:], d.bytes(len(r.Tx.Hash), "request hash"))
	}
	if flags&recordHasMetadata != 0 {
		md := d.bytes(int(d.uvarint(MaxMetadata, "length of metadata")), "metadata")
		if d.err == nil && (len(md) < 2 || md[0] != '{' || md[len(md)-1] != '}') {
			d.fail("the metadata is not a JSON object")
		}
		r.Tx.Metadata = md
	}
	if flags&recordHasPrincipal != 0 {
		r.Tx.Principal = d.bytes(int(d.byte()), "principal")
		if d.err == nil && len(r.Tx.Principal) == 0 {
			d.fail("the principal is empty")
		}
	}
	if flags&recordHasMinted != 0 {
		r.Out.FirstMinted = int64(d.uvarint(math.MaxInt64, "first minted id"))
		r.Out.Minted = int(d.uvarint(MaxOperations, "number of minted ids"))
		if d.err == nil && (r.Out.FirstMinted < 1 || r.Out.Minted < 1 || r.Out.FirstMinted > math.MaxInt64-int64(r.Out.Minted-1)) {
			d.fail("minted ids out of range")
		}
	}
	if flags&recordHasReverses != 0 {
		if r.Tx.Reverses = d.uvarint(math.MaxInt64, "commit reversed"); r.Tx.Reverses == 0 {
			d.fail("it reverses commit 0")
		}
	}
}

// operation reads operation i into op, which must be empty, and then the operation's decision, if any.
func (d *recordDecoder) operation(op *Op, i int, r *Record) {
	form := d.byte()
	op.Kind = OpKind(form &^ (recordOpMasks | recordOpDecision))
	switch {
	case op.Kind >= NumOpKinds:
		d.newer("operation %d has the unknown kind %d", i, op.Kind)
		return
	case op.Kind == 0:
		d.fail("operation %d has the kind 0", i)
		return
	}
	all := uint64(1)<<len(opSpecs[op.Kind].args) - 1
	op.Has = uint16(d.uvarint(all, "mask of arguments"))
	missing := requiredArgs[op.Kind] &^ op.Has
	if missing != 0 && missing&op.neededArgs() != 0 {
		d.fail("operation %d, %s, has the arguments %#x, but needs %#x", i, op.Kind, op.Has, op.neededArgs())
		return
	}
	if op.Kind == HoldFungible && op.Has&(1<<HoldExpiresIn) != 0 {
		d.fail("operation %d, %s, has expires_in, which should have been replaced by expires_at", i, op.Kind)
		return
	}
	if form&recordOpMasks != 0 {
		d.masks(op, i)
	}
	texts := textArgs[op.Kind]
	for given := op.Has &^ op.Null; given != 0; given &= given - 1 {
		if j := bits.TrailingZeros16(given); texts&(1<<j) != 0 {
			d.textArgument(op, i, j)
		} else {
			d.argument(op, i, j)
		}
	}
	if op.Kind == MintInstance {
		d.mints++
	}
	var dec *Decision
	if form&recordOpDecision != 0 {
		dec = d.decision(op, i, r)
	}
	if missing != 0 && d.err == nil && (dec == nil || dec.ID == 0) {
		d.fail("operation %d, %s, has no id, and no decision that assigned one", i, op.Kind)
	}
	d.part2 = d.part2 || isPart2(op, dec)
}

// masks reads Null and Ref of operation i.
func (d *recordDecoder) masks(op *Op, i int) {
	op.Null = uint16(d.uvarint(uint64(op.Has), "mask of nulls"))
	op.Ref = uint16(d.uvarint(uint64(op.Has), "mask of references"))
	mayNull, mayRef := nullable[op.Kind], mintedArgs[op.Kind]
	if d.err == nil && (op.Null|op.Ref == 0 || op.Null&^(op.Has&mayNull) != 0 || op.Ref&^(op.Has&mayRef) != 0) {
		d.fail("operation %d, %s, can't have the masks %#x of nulls and %#x of references with the arguments %#x", i, op.Kind, op.Null, op.Ref, op.Has)
	}
}

// textArgument reads argument j of operation i, a string.
func (d *recordDecoder) textArgument(op *Op, i, j int) {
	a := &opSpecs[op.Kind].args[j]
	text := d.text("string")
	if d.err == nil && !validText(a.Type, text) {
		d.fail("operation %d: %s is not a valid name", i, a.Name)
	}
	if op.Name != "" {
		op.Name += "\n"
	}
	op.Name += string(text)
}

// argument reads argument j of operation i, a number.
func (d *recordDecoder) argument(op *Op, i, j int) {
	a := &opSpecs[op.Kind].args[j]
	at := d.pos
	v := int64(d.uvarint(math.MaxInt64, a.Name))
	op.Args[j] = v
	limits := &recordRanges[a.Type]
	if op.Ref&(1<<j) != 0 {
		limits = &valueRange{min: 0, max: int64(d.mints) - 1}
	}
	if (v < limits.min || v > limits.max || a.Type == ArgRotation && v%90 != 0) && d.err == nil {
		d.pos = at
		d.fail("operation %d: %s is %d, out of its range", i, a.Name, v)
	}
}

// text reads a string. It is at most as long as the strings of one operation together.
func (d *recordDecoder) text(what string) []byte {
	const longest = 4*MaxNameLength + 1 + MaxClassCode // a class name in UTF-8, and a code
	return d.bytes(int(d.uvarint(longest, "length of a "+what)), what)
}

// recordRanges are the ranges of values in accepted operations.
var recordRanges = func() (t [len(valueRanges)]valueRange) {
	t = valueRanges
	t[ArgQuantity].min = 1
	t[ArgBool] = valueRange{min: 0, max: 1}
	t[ArgFlag] = t[ArgBool]
	t[ArgKind] = valueRange{min: int64(Standard), max: int64(Grid)}
	return t
}()

// decision reads what was decided for operation i.
func (d *recordDecoder) decision(op *Op, i int, r *Record) *Decision {
	r.Out.Decisions = append(r.Out.Decisions, Decision{Op: int32(i)})
	dec := &r.Out.Decisions[len(r.Out.Decisions)-1]
	switch form := d.byte(); form {
	case decisionPlaced, decisionTurned:
		dec.Placed, dec.Turned = true, form == decisionTurned
		dec.X = uint16(d.uvarint(MaxSide-1, "x"))
		dec.Y = uint16(d.uvarint(MaxSide-1, "y"))
	case decisionMoved:
		dec.Quantity = int64(d.uvarint(math.MaxInt64, "quantity moved"))
	case decisionAssigned:
		dec.ID = int64(d.uvarint(math.MaxInt64, "id assigned"))
		d.assigned(op, i, dec.ID)
	case decisionRenamed:
		dec.Renamed, dec.Was = true, string(d.text("string replaced"))
		if d.err == nil && !op.validWas(dec.Was) {
			d.fail("operation %d, %s, can't have replaced %q", i, op.Kind, dec.Was)
		}
	default:
		d.newer("operation %d has the unknown decision %d", i, form)
	}
	return dec
}

// assigned sets the id that the ledger assigned to what operation i creates.
func (d *recordDecoder) assigned(op *Op, i int, id int64) {
	newID := newIDArg[op.Kind]
	if d.err != nil {
		return
	}
	if id < FirstAssigned || newID == 0 || op.Has&newID != 0 {
		d.fail("operation %d, %s, can't have been assigned the id %d", i, op.Kind, id)
		return
	}
	op.setAssigned(id)
}

// checkWhole checks the parts of the record against each other.
func (d *recordDecoder) checkWhole(r *Record) {
	if d.part2 != (d.version == recordVersion2) {
		d.fail("version %d, which does not fit its operations", d.version)
	}
	if r.Out.Minted != d.mints {
		d.fail("%d ids were minted by %d operations", r.Out.Minted, d.mints)
	}
	kind := r.Tx.Ops[0].Kind
	switch r.Tx.Endpoint {
	case EndpointReverse:
		if r.Tx.Reverses == 0 {
			d.fail("a reversal of no commit")
		}
	case EndpointRegisterClass:
		if kind != RegisterClass || len(r.Tx.Ops) > 1 {
			d.fail("a registration of a class with %d operations, first %s", len(r.Tx.Ops), kind)
		}
	case EndpointRegisterShape:
		if kind != RegisterClassShape || len(r.Tx.Ops) > 1 {
			d.fail("a registration of a shape with %d operations, first %s", len(r.Tx.Ops), kind)
		}
	}
}
