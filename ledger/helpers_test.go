package ledger

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetledger/server/servertest/longtest"
)

func TestMain(m *testing.M) { os.Exit(longtest.Main(m)) }

// asOp parses an operation in words: Name arg=value …. A value is an integer,
// true, false, null, a container kind, a name, or minted:n.
func asOp(t testing.TB, words string) Op {
	t.Helper()
	fields := strings.Fields(words)
	for _, kind := range OpKinds() {
		if kind.String() != fields[0] {
			continue
		}
		op := Op{Kind: kind}
		texts := map[int]string{}
		for _, field := range fields[1:] {
			setArg(t, &op, field, texts)
		}
		setTexts(&op, texts)
		return op
	}
	t.Fatalf("no operation %q", fields[0])
	return Op{}
}

func setArg(t testing.TB, op *Op, field string, texts map[int]string) {
	t.Helper()
	name, value, _ := strings.Cut(field, "=")
	for i, arg := range op.Kind.Args() {
		if arg.Name != name {
			continue
		}
		op.Has |= 1 << i
		if n, ok := strings.CutPrefix(value, "minted:"); ok {
			op.Ref |= 1 << i
			value = n
		}
		if kind, ok := ParseContainerKind(value); ok {
			op.Args[i] = int64(kind)
		} else if value == "null" {
			op.Null |= 1 << i
		} else if textArgs[op.Kind]&(1<<i) != 0 {
			texts[i] = value
		} else if value == "true" || value == "false" {
			op.Args[i] = map[string]int64{"true": 1}[value]
		} else if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			op.Args[i] = n
		} else if nameArgs[op.Kind]&(1<<i) != 0 {
			op.Ref |= 1 << i
			texts[i] = value
		} else {
			t.Fatalf("%s: bad value %q", op.Kind, field)
		}
		return
	}
	t.Fatalf("%s has no argument %q", op.Kind, name)
}

// asTx parses operations in words, one per line or separated by semicolons.
func asTx(t testing.TB, text string) *Transaction {
	t.Helper()
	tx := &Transaction{}
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == ';' }) {
		if line = strings.TrimSpace(line); line != "" {
			tx.Ops = append(tx.Ops, asOp(t, line))
		}
	}
	return tx
}

// accept applies operations that must be accepted, and checks the state.
func accept(t testing.TB, s *State, text string) *Outcome {
	t.Helper()
	out := &Outcome{}
	if err := s.Apply(asTx(t, text), 0, out); err != nil {
		t.Fatalf("%s: %v", strings.TrimSpace(text), err)
	}
	check(t, s)
	return out
}

// refuse applies operations that must be rejected without changing anything.
func refuse(t testing.TB, s *State, text string) *Error {
	t.Helper()
	before := dump(t, s)
	out := &Outcome{Minted: 7, Decisions: []Decision{{}}}
	err := s.Apply(asTx(t, text), 0, out)
	if err == nil {
		t.Fatalf("%s: accepted, want a rejection", strings.TrimSpace(text))
	}
	if out.Minted != 0 || out.FirstMinted != 0 || len(out.Decisions) != 0 {
		t.Errorf("%s: rejected with the outcome %+v, want an empty one", text, *out)
	}
	check(t, s)
	same(t, "after a rejection", before, dump(t, s))
	return err
}

func check(t testing.TB, s *State) {
	t.Helper()
	if err := s.Invariants(); err != nil {
		t.Fatal(err)
	}
}

func same(t testing.TB, when, want, got string) {
	t.Helper()
	if want != got {
		t.Fatalf("%s: the state differs (-want +got):\n%s", when, cmp.Diff(want, got))
	}
}

// dump returns what the reads show of all classes, containers and instances, together
// with the sequence number, the digest and the next ids.
func dump(t testing.TB, s *State) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "seq %d digest %016x next instance %d, ids %v\n", s.Seq(), s.Digest(), s.nextInstance, s.assigned)
	classes, _ := s.Classes(nil, 0, math.MaxInt)
	for _, k := range classes {
		stats, err1 := s.Stats(k.ID)
		shapes, err2 := s.Shapes(nil, k.ID)
		noErrors(t, err1, err2)
		fmt.Fprintf(&b, "%+v\n  %+v\n  %+v\n", k, stats, shapes)
	}
	containers, _, _ := s.Containers(nil, ContainerFilter{}, 0, math.MaxInt)
	for _, c := range containers {
		one, err := s.Container(c.ID)
		noErrors(t, err)
		fmt.Fprintf(&b, "%+v\n", one)
		dumpContents(t, &b, s, c)
	}
	named, _, _ := s.NamedContainers(nil, "", ContainerFilter{}, nil, "", math.MaxInt)
	for _, c := range named {
		fmt.Fprintf(&b, "%s: %d\n", c.Name, c.ID)
	}
	for id := int64(1); id < s.nextInstance; id++ {
		if info, err := s.Instance(id); err == nil {
			info.Children, _ = s.Children(nil, id, 0, math.MaxInt)
			fmt.Fprintf(&b, "%+v\n", info)
		}
	}
	return b.String()
}

func dumpContents(t testing.TB, b *strings.Builder, s *State, c ContainerInfo) {
	t.Helper()
	if c.Kind == Slots {
		slots, _, err := s.SlotEntries(nil, c.ID, -1, math.MaxInt)
		noErrors(t, err)
		fmt.Fprintf(b, "  %+v\n", slots)
		return
	}
	balances, _, _, err := s.Balances(nil, c.ID, BalanceFilter{}, nil, math.MaxInt)
	noErrors(t, err)
	fmt.Fprintf(b, "  %+v\n", balances)
	holds, _, err := s.Holds(nil, c.ID, 0, math.MaxInt)
	noErrors(t, err)
	fmt.Fprintf(b, "  %+v\n", holds)
	if c.Kind == Grid {
		placements, _, err := s.Placements(nil, c.ID, nil, nil, math.MaxInt)
		noErrors(t, err)
		fmt.Fprintf(b, "  %+v\n", placements)
	}
}

func noErrors(t testing.TB, errs ...*Error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(errors.New(err.Error()))
		}
	}
}

// detail returns a detail of an error as text, "" if it is absent.
func detail(e *Error, name string) string {
	for _, d := range e.Details {
		if d.Name == name {
			if d.IsStr {
				return d.Str
			}
			return strconv.FormatInt(d.Int, 10)
		}
	}
	return ""
}
