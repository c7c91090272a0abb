package ledger

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

func op(kind OpKind, args ...int64) Op {
	o := Op{Kind: kind, Has: 1<<len(args) - 1}
	copy(o.Args[:], args)
	return o
}

func mustApply(b testing.TB, s *State, ops ...Op) {
	b.Helper()
	var out Outcome
	if err := s.Apply(&Transaction{Ops: ops}, 0, &out); err != nil {
		b.Fatal(err)
	}
}

// stocked returns a state of n Standard containers with the given number of
// stacks of class 1 each.
func stocked(b testing.TB, n, stacks int) *State {
	b.Helper()
	s := NewState(Config{})
	mustApply(b, s, Op{Kind: RegisterClass, Has: 3, Name: "gold", Args: [MaxArgs]int64{1}})
	for id := int64(1); id <= int64(n); id++ {
		ops := []Op{op(CreateContainer, id, int64(Standard))}
		for key := range int64(stacks) {
			ops = append(ops, op(AddFungible, id, 1, key, 1_000_000))
		}
		mustApply(b, s, ops...)
	}
	return s
}

func transfers(n, containers int) []Transaction {
	r := rand.New(rand.NewPCG(1, 2))
	txs := make([]Transaction, n)
	for i := range txs {
		from := 1 + r.Int64N(int64(containers))
		to := 1 + (from+r.Int64N(int64(containers)-1))%int64(containers)
		txs[i].Ops = []Op{op(TransferFungible, from, to, 1, 0, 1)}
	}
	return txs
}

// applyAll applies the transactions over and over. Their number must be a power
// of two.
func applyAll(b *testing.B, s *State, txs []Transaction, then func()) {
	var out Outcome
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := s.Apply(&txs[i&(len(txs)-1)], 0, &out); err != nil {
			b.Fatal(err)
		}
		then()
	}
}

func nothing() {}

const hot = 10_000 // containers

func BenchmarkApplyTransfer(b *testing.B) {
	applyAll(b, stocked(b, hot, 1), transfers(1<<14, hot), nothing)
}

func BenchmarkApplyUndo(b *testing.B) {
	s := stocked(b, hot, 1)
	applyAll(b, s, transfers(1<<14, hot), s.Undo)
}

// BenchmarkReplayTransfer decodes and replays records of one transfer, as a daemon
// does when it starts.
func BenchmarkReplayTransfer(b *testing.B) {
	for _, containers := range []int{hot, 1_000_000} {
		b.Run(fmt.Sprintf("containers=%d", containers), func(b *testing.B) {
			s, txs := stocked(b, containers, 1), transfers(1<<16, containers)
			records := make([][]byte, len(txs))
			for i := range records {
				records[i] = AppendRecord(nil, &txs[i], &Outcome{})
			}
			recs := make([]Record, 32)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				n := i % len(recs)
				if err := recs[n].Decode(records[i&(len(records)-1)]); err != nil {
					b.Fatal(err)
				}
				if n == len(recs)-1 {
					if _, err := s.ReplayAll(recs, 0, 1); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkStackComesAndGoes moves whole stacks, so each transfer deletes one
// stack and creates one.
func BenchmarkStackComesAndGoes(b *testing.B) {
	s := stocked(b, hot, 1)
	mustApply(b, s, op(AddFungible, 1, 1, 5, 7))
	applyAll(b, s, []Transaction{
		{Ops: []Op{op(TransferFungible, 1, 2, 1, 5, 7)}},
		{Ops: []Op{op(TransferFungible, 2, 1, 1, 5, 7)}},
	}, nothing)
}

func BenchmarkBalanceRead(b *testing.B) {
	s := stocked(b, hot, 10)
	var dst []Balance
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		dst, _, _, _ = s.Balances(dst[:0], 1+int64(i%hot), BalanceFilter{}, nil, 1000)
	}
}

// BenchmarkFirstFit places 10,000 stacks in a 1024 x 1024 grid in one
// transaction. full is the number of rows that are occupied beforehand.
func BenchmarkFirstFit(b *testing.B) {
	for _, size := range []struct {
		name       string
		w, h, full int64
	}{
		{"1x1", 1, 1, 0},
		{"10x10", 10, 10, 0},
		{"3x33", 3, 33, 0},
		{"100x1", 100, 1, 0},
		{"late 1x1", 1, 1, 1000},
		{"late 4x3", 4, 3, 900},
		{"late 3x4", 3, 4, 900},
	} {
		b.Run(size.name, func(b *testing.B) { benchmarkFit(b, size.w, size.h, size.full) })
	}
}

func benchmarkFit(b *testing.B, w, h, full int64) {
	s := NewState(Config{})
	shape := func(key, w, h int64) Op {
		return Op{Kind: RegisterClassShape, Has: 15, Args: [MaxArgs]int64{1, key, w, h}}
	}
	mustApply(b, s,
		Op{Kind: RegisterClass, Has: 3, Name: "gold", Args: [MaxArgs]int64{1}},
		Op{Kind: RegisterClassShape, Has: 13, Args: [MaxArgs]int64{1, 0, w, h}},
		Op{Kind: CreateContainer, Has: 0b110011, Args: [MaxArgs]int64{1, int64(Grid), 0, 0, MaxSide, MaxSide}})
	if full > 0 {
		mustApply(b, s, shape(20_000, MaxSide, full), op(AddFungible, 1, 1, 20_000, 1))
	}
	tx := &Transaction{}
	for key := range int64(10_000) {
		tx.Ops = append(tx.Ops, op(AddFungible, 1, 1, key, 1))
	}
	var out Outcome
	for b.Loop() {
		if err := s.Apply(tx, 0, &out); err != nil {
			b.Fatal(err)
		}
		s.Undo()
	}
}

// BenchmarkMillionContainers measures memory and transfers with ten million
// stacks in a million containers. It takes a minute and a gigabyte.
func BenchmarkMillionContainers(b *testing.B) {
	if testing.Short() {
		b.Skip("needs a gigabyte of memory: run without -short")
	}
	const containers, stacks = 1_000_000, 10
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := stocked(b, containers, stacks)
	runtime.GC()
	runtime.ReadMemStats(&after)
	applyAll(b, s, transfers(1<<20, containers), nothing)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(containers*stacks), "bytes/stack")
}

// BenchmarkPrefetch applies transfers among many containers, with and without
// prefetching the memory that a group of them needs.
func BenchmarkPrefetch(b *testing.B) {
	const ahead = prefetchSides / 2
	for _, containers := range []int{hot, 1_000_000} {
		s, txs := stocked(b, containers, 1), transfers(1<<20, containers)
		for _, prefetch := range []bool{false, true} {
			b.Run(fmt.Sprintf("containers=%d/prefetch=%v", containers, prefetch), func(b *testing.B) {
				var out Outcome
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if prefetch && i%ahead == 0 {
						for j := range ahead {
							s.Expect(&txs[(i+j)&(len(txs)-1)])
						}
						s.Prefetch()
					}
					if err := s.Apply(&txs[i&(len(txs)-1)], 0, &out); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
