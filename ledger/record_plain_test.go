package ledger

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPlainDecode checks that the loop for plain operations has the same results and
// errors as the general code, for the records of a log with bytes that were changed,
// added or lost.
func TestPlainDecode(t *testing.T) {
	specs := plainSpecs
	defer func() { plainSpecs = specs }()
	r := rand.New(rand.NewPCG(5, 9))
	good, bad := 0, 0
	log := mixedLog(t, r, 1000)
	for _, kind := range OpKinds() { // small numbers around the limits, and texts
		for range 50 {
			o := Op{Kind: kind, Has: requiredArgs[kind], Name: []string{"", "a"}[r.IntN(2)]}
			for i := range o.Args {
				o.Args[i] = r.Int64N(6)
			}
			log = append(log, AppendRecord(nil, &Transaction{Ops: []Op{o}}, &Outcome{}))
		}
	}
	for _, record := range log {
		for range 20 {
			b := slices.Clone(record)
			switch at := r.IntN(len(b)); r.IntN(5) {
			case 0: // as it is
			case 1:
				b = slices.Delete(b, at, at+1)
			case 2:
				b = slices.Insert(b, at, byte(r.IntN(256)))
			case 3:
				b[at] ^= 1 << r.IntN(8)
			case 4: // the longest numbers, and one too long
				b = slices.Insert(b, at, slices.Repeat([]byte{0x80 | byte(r.IntN(128))}, 7+r.IntN(3))...)
			}
			var plain, general Record
			err := plain.Decode(b)
			plainSpecs = [NumOpKinds]plainSpec{}
			want := general.Decode(b)
			plainSpecs = specs
			if fmt.Sprint(err) != fmt.Sprint(want) {
				t.Fatalf("%x: %v, the general code: %v", b, err, want)
			}
			if err != nil {
				bad++
				continue
			}
			good++
			if fmt.Sprintf("%+v", plain) != fmt.Sprintf("%+v", general) {
				t.Fatalf("%x:\n%+v, the general code:\n%+v", b, plain, general)
			}
		}
	}
	if good < 5000 || bad < 5000 {
		t.Errorf("%d records decode and %d don't, want at least 5000 of each", good, bad)
	}
}
