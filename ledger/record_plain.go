package ledger

// A plain operation is one that version 1 has, other than MintInstance. It has exactly
// the arguments that it requires, all of them numbers, and no decision. Nearly all
// operations of a log are plain, so Decode reads them in one loop.

// plainHead begins the record of a commit that has one operation and no optional
// parts.
const plainHead = "\x01\x00\x00\x01"

// A plainSpec describes the plain operations of a kind.
type plainSpec struct {
	has    uint8 // mask of the arguments, which are the first ones; 0: the kind has no plain operations
	args   uint8
	limits [MaxArgs]struct{ min, max uint64 }
}

var plainSpecs = func() (t [NumOpKinds]plainSpec) {
	for kind := OpKind(1); kind <= RegisterClassShape; kind++ { // those that version 1 has
		has, p := requiredArgs[kind], &t[kind]
		n := 0
		for ; has&(1<<n) != 0; n++ {
			limits := &recordRanges[opSpecs[kind].args[n].Type]
			p.limits[n].min, p.limits[n].max = uint64(limits.min), uint64(limits.max)
		}
		if has == 1<<n-1 && has&textArgs[kind] == 0 && kind != MintInstance {
			p.has, p.args = uint8(has), uint8(n)
		}
	}
	return t
}()

// plain reads an operation into op, which is empty. It returns false, and reads
// nothing, if the operation is not plain, or if something is wrong with it.
func (d *recordDecoder) plain(op *Op) bool {
	b := d.data[d.pos:]
	if len(b) < 2 || b[0] >= NumOpKinds || b[1] == 0 || b[1] != plainSpecs[b[0]].has {
		return false
	}
	spec, at := &plainSpecs[b[0]], 2
	for i := range int(spec.args) {
		v, n := plainNumber(b, at)
		if limits := &spec.limits[i]; n == 0 || v < limits.min || v > limits.max {
			*op = Op{}
			return false
		}
		op.Args[i], at = int64(v), n
	}
	op.Kind, op.Has = OpKind(b[0]), uint16(b[1])
	d.pos += at
	return true
}

// plainNumber reads the uvarint at a position of b, and returns the position after
// it. next is 0 if b has no uvarint below 2^63 in its shortest form there.
func plainNumber(b []byte, at int) (v uint64, next int) {
	for shift := 0; at < len(b) && shift < 63; shift += 7 {
		c := b[at]
		at++
		v |= uint64(c&0x7f) << shift
		if c >= 0x80 {
			continue
		}
		if c == 0 && shift > 0 {
			return 0, 0
		}
		return v, at
	}
	return 0, 0
}
