package ledger

import (
	"math/bits"
	"slices"
	"strings"
)

// Arguments that are strings: new names of containers and classes, and names in
// place of an integer.

// Sets of arguments by kind, as bits of Op.Has.
var (
	textArgs   = argSet(ofType(ArgName, ArgContainerName, ArgClassCode, ArgContainerNameOrNull, ArgClassCodeOrNull)) // always a string
	nameArgs   = argSet(ofType(ArgContainer, ArgClass))                                                              // an integer, or a name that stands for it
	newIDArg   = argSet(ofType(ArgNewID))                                                                            // the id, which the ledger assigns if only namingArg is given
	namingArg  = argSet(ofType(ArgContainerName, ArgClassCode))                                                      // the name or code of a new container or class
	absentNull = argSet(ofType(ArgOwner, ArgShapeKey))                                                               // null means the same as leaving it out
	nullable   = argSet(ofType(ArgOwner, ArgShapeKey, ArgContainerNameOrNull, ArgClassCodeOrNull))
	mintedArgs = argSet(ofType(ArgInstance)) // may be {"minted": n}
)

// argSet returns, for each kind, the set of arguments that the given function accepts.
func argSet(is func(Arg) bool) [NumOpKinds]uint16 {
	return perKind(func(k OpKind) (set uint16) {
		for i, a := range k.Args() {
			if is(a) {
				set |= 1 << i
			}
		}
		return set
	})
}

func ofType(types ...ArgType) func(Arg) bool {
	return func(a Arg) bool { return slices.Contains(types, a.Type) }
}

// texts returns the set of arguments whose values are strings.
func (o *Op) texts() uint16 {
	return o.Has &^ o.Null & (textArgs[o.Kind] | nameArgs[o.Kind]&o.Ref)
}

// Text returns the string given as argument i, or "" if there is none. The
// strings of an operation are in Name in the order of the arguments, separated by
// newlines, which none of them can contain.
func (o *Op) Text(i int) string {
	texts, rest := o.texts(), o.Name
	if texts&(1<<i) == 0 {
		return ""
	}
	for range bits.OnesCount16(texts & (1<<i - 1)) {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	text, _, _ := strings.Cut(rest, "\n")
	return text
}

// named reports whether argument i names a container or class by a string.
func (o *Op) named(i int) bool { return o.Ref&(1<<i) != 0 && nameArgs[o.Kind]&(1<<i) != 0 }

// neededArgs returns the set of required arguments.
func (o *Op) neededArgs() uint16 {
	need := requiredArgs[o.Kind]
	if o.Has&namingArg[o.Kind] != 0 {
		need &^= newIDArg[o.Kind]
	}
	return need
}

// FirstAssigned is the first id that the ledger assigns. Assigned ids count up from it.
// Even JSON libraries that read numbers as float64 read them exactly, up to 2^53.
const FirstAssigned = 1 << 52

// setAssigned records the id that the ledger assigned to what the operation creates.
func (o *Op) setAssigned(id int64) {
	newID := newIDArg[o.Kind]
	o.Ref |= newID
	o.Args[bits.TrailingZeros16(newID)] = id
}

// validWas reports whether its argument is a possible value of Decision.Was for the
// operation. It returns false for operations that are not renames.
func (o *Op) validWas(was string) bool {
	texts := o.Has & textArgs[o.Kind]
	if o.Kind != RenameContainer && o.Kind != RenameClass || strings.Count(was, "\n") != bits.OnesCount16(texts)-1 {
		return false
	}
	for text := range strings.SplitSeq(was, "\n") {
		t := o.Kind.Args()[bits.TrailingZeros16(texts)].Type
		if texts &= texts - 1; !validText(t, text) && (t == ArgName || text != "") {
			return false
		}
	}
	return true
}

// Maximum lengths of names and codes, in characters. The minimum is 1.
const (
	MaxContainerName = 128
	MaxClassCode     = 32
)

// ValidContainerName reports whether a container may have the name: 1 to 128 of
// the characters A-Z a-z 0-9 . _ : / @ + -, the first a letter or digit, and not
// all of them digits.
func ValidContainerName[T string | []byte](name T) bool {
	return validReference(name, MaxContainerName)
}

// ValidClassCode reports whether a class may have the code. The rule is the same as for
// container names, but with at most 32 characters.
func ValidClassCode[T string | []byte](code T) bool { return validReference(code, MaxClassCode) }

// ValidNamePrefix reports whether a container's name may begin with the prefix,
// which may be empty.
func ValidNamePrefix(prefix string) bool {
	return prefix == "" || validReference(prefix, MaxContainerName) || len(prefix) < MaxContainerName && validReference(prefix+"a", MaxContainerName)
}

func validReference[T string | []byte](name T, most int) bool {
	if len(name) == 0 || len(name) > most || !alphanumeric(name[0]) {
		return false
	}
	digits := true
	for i := range len(name) {
		c := name[i]
		if !alphanumeric(c) && strings.IndexByte("._:/@+-", c) < 0 {
			return false
		}
		digits = digits && c-'0' <= 9
	}
	return !digits
}

func alphanumeric(c byte) bool { return c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'z' }

// validText reports whether a string is valid for an argument of the type.
func validText[T string | []byte](t ArgType, text T) bool {
	switch t {
	case ArgName:
		return validName(text)
	case ArgContainer, ArgContainerName, ArgContainerNameOrNull:
		return ValidContainerName(text)
	case ArgClass, ArgClassCode, ArgClassCodeOrNull:
		return ValidClassCode(text)
	}
	return false
}
