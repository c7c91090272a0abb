package httpserver

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

const mib = 1 << 20

func (b *Budget) claim(t *testing.T, n int64) *Claim {
	t.Helper()
	c := &Claim{budget: b}
	if !c.Grow(n) {
		t.Fatalf("no room for %d bytes beside %d", n, b.Used())
	}
	return c
}

// Large claims can't take what is kept for small ones, nor small ones what is
// kept for tiny ones. The only large claim gets whatever it needs.
func TestBudgetParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(64 * mib)
		first := b.claim(t, 100*mib) // alone
		if (&Claim{budget: b}).Grow(5 * mib) {
			t.Error("a second large claim got more than there is")
		}
		b.claim(t, 4*mib)
		b.claim(t, 2*mib)
		if (&Claim{budget: b}).Grow(mib) {
			t.Error("a small claim got what is kept for tiny ones")
		}
		for range 32 {
			b.claim(t, TinyClaim)
		}
		if (&Claim{budget: b}).Grow(1) {
			t.Error("a claim got more than there is")
		}
		first.Release()
		b.claim(t, 40*mib)
		b.claim(t, 3*mib) // of what large ones leave
		if (&Claim{budget: b}).Grow(20 * mib) {
			t.Error("a large claim got what small ones hold")
		}
	})
}

// Small claims may take what large ones leave, but for what is kept for tiny
// ones: those find room whatever came before.
func TestBudgetKeepsRoomForTiny(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(64 * mib)
		for range 12 {
			b.claim(t, 4*mib)
		}
		for _, n := range []int64{20, 10, 5, 4, 2, 1} {
			c := &Claim{budget: b}
			for c.Grow(n * mib) {
				c = &Claim{budget: b}
			}
		}
		for range 32 {
			b.claim(t, TinyClaim)
		}
	})
}

// A claim that finds no room ends the one whose client is slowest for what it
// holds, and no other; it waits until that has given back.
func TestBudgetEndsTheSlowest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(64 * mib)
		ended := map[string]bool{}
		hold := func(name string, n int64) *Claim {
			c := b.claim(t, n)
			c.Awaits(func() {
				ended[name] = true
				time.AfterFunc(300*time.Millisecond, c.Release)
			})
			return c
		}
		hold("stalled", 20*mib)
		hold("more stalled", 21*mib)
		quick := hold("quick", 14*mib)
		busy := b.claim(t, 200)
		time.Sleep(paceWindow)
		quick.Progress(20 * mib)
		start := time.Now()
		b.claim(t, 10*mib)
		if len(ended) != 1 || !ended["more stalled"] {
			t.Errorf("ended: %v", ended)
		}
		if waits, dropped := b.Waits.Load(), b.Ended.Load(); waits != 1 || dropped != 1 {
			t.Errorf("%d waits and %d dropped clients are counted, want 1 and 1", waits, dropped)
		}
		if took := time.Since(start); took > claimPatience/2 {
			t.Errorf("waited %v", took)
		}
		busy.Release()
	})
}

// A young claim is not ended, and neither is one that is not its client's turn.
// A claim that finds no room waits only so long.
func TestBudgetPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(64 * mib)
		c := b.claim(t, 50*mib)
		c.Awaits(func() { t.Error("ended") })
		time.Sleep(time.Hour)
		c.Ready()
		start := time.Now()
		if (&Claim{budget: b}).Grow(10 * mib) {
			t.Error("there was room")
		}
		if took := time.Since(start); took != claimPatience {
			t.Errorf("waited %v", took)
		}
		young := false
		c.Awaits(func() { young = time.Since(start) < claimPatience+paceWindow; go c.Release() })
		b.claim(t, 10*mib)
		if young {
			t.Error("ended within its first window")
		}
	})
}

// Whatever claims do, the budget's sums are those of the claims.
func TestBudgetSums(t *testing.T) {
	b := NewBudget(64 * mib)
	rng := rand.New(rand.NewPCG(1, 2))
	claims := make([]Claim, 10)
	for i := range claims {
		claims[i].budget = b
	}
	for range 20_000 {
		c := &claims[rng.IntN(len(claims))]
		switch n := int64(1) << rng.IntN(25); rng.IntN(4) {
		case 0:
			c.Release()
		case 1:
			c.Force(-min(n, c.Held))
		case 2:
			c.Force(n)
		default:
			b.mu.Lock()
			c.tryGrow(n)
			b.mu.Unlock()
		}
		var small, large int64
		larges := 0
		for i := range claims {
			if claims[i].Held > smallClaim {
				large += claims[i].Held
				larges++
			} else {
				small += claims[i].Held
			}
		}
		if small != b.small.Load() || large != b.large.Load() || larges != b.larges {
			t.Fatalf("small %d of %d, large %d of %d, %d of %d large claims", b.small.Load(), small, b.large.Load(), large, b.larges, larges)
		}
	}
}
