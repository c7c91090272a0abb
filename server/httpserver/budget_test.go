package httpserver

import (
	"maps"
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
		t.Fatalf("no room for %d bytes next to %d", n, b.Used())
	}
	return c
}

// Large claims can't use what is reserved for small ones, nor small ones what is
// reserved for tiny ones. The only large claim gets whatever it needs.
func TestBudgetParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(64 * mib)
		first := b.claim(t, 100*mib) // the only claim
		if (&Claim{budget: b}).Grow(5 * mib) {
			t.Error("a second large claim got more than there is")
		}
		b.claim(t, 4*mib)
		b.claim(t, 2*mib)
		if (&Claim{budget: b}).Grow(mib) {
			t.Error("a small claim got what is kept for tiny ones")
		}
		for range 16 {
			b.claim(t, TinyClaim)
		}
		if (&Claim{budget: b}).Grow(TinyClaim) {
			t.Error("a tiny claim got what is kept for the least")
		}
		for range 256 {
			b.claim(t, leastClaim)
		}
		if (&Claim{budget: b}).Grow(1) {
			t.Error("a claim got more than there is")
		}
		first.Release()
		b.claim(t, 40*mib)
		b.claim(t, 3*mib) // uses what large claims left
		if (&Claim{budget: b}).Grow(20 * mib) {
			t.Error("a large claim got what small ones hold")
		}
	})
}

// A commit of a few bytes finds room at once even if bodies of 64 KiB or more fill all
// the room that they may use, and their clients are not yet known to be slow.
func TestBudgetKeepsRoomForTheLeast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(64 * mib)
		b.claim(t, 60*mib)
		for n := int64(4 * mib); n >= TinyClaim; n /= 2 {
			for c := (&Claim{budget: b}); c.GrowNow(n); c = (&Claim{budget: b}) {
				c.Awaits(func() { t.Error("a claim was ended although no other waits") })
			}
		}
		start := time.Now()
		b.claim(t, 200)
		if took := time.Since(start); took != 0 {
			t.Errorf("the least claim waited %v, want no wait", took)
		}
	})
}

// Small claims may use what large ones leave, except what is reserved for tiny
// ones. Tiny claims still find room.
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
		for range 16 {
			b.claim(t, TinyClaim)
		}
	})
}

// A claim that finds no room ends the claim whose client is slowest for its size,
// and no other. It waits until that claim has released its bytes.
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
			t.Errorf("the claims %v were ended, want the more stalled one", ended)
		}
		if waits, dropped := b.Waits.Load(), b.Ended.Load(); waits != 1 || dropped != 1 {
			t.Errorf("%d waits and %d dropped clients are counted, want 1 and 1", waits, dropped)
		}
		if took := time.Since(start); took > claimPatience/2 {
			t.Errorf("the claim waited %v, want at most %v", took, claimPatience/2)
		}
		busy.Release()
	})
}

// The budget ends neither a young claim nor one that isn't waiting for its client.
// A claim that finds no room waits only for a limited time.
func TestBudgetPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(64 * mib)
		c := b.claim(t, 50*mib)
		c.Awaits(func() { t.Error("a claim was ended although its client was not awaited") })
		time.Sleep(time.Hour)
		c.Ready()
		start := time.Now()
		if (&Claim{budget: b}).Grow(10 * mib) {
			t.Error("a claim found room in a full budget")
		}
		if took := time.Since(start); took != claimPatience {
			t.Errorf("the claim waited %v, want %v", took, claimPatience)
		}
		young := false
		c.Awaits(func() { young = time.Since(start) < claimPatience+paceWindow; go c.Release() })
		b.claim(t, 10*mib)
		if young {
			t.Error("ended within its first window")
		}
	})
}

// Whatever the claims do, the sums of the budget equal those of the claims.
func TestBudgetSums(t *testing.T) {
	b := NewBudget(64 * mib)
	rng := rand.New(rand.NewPCG(1, 2))
	claims := make([]Claim, 10)
	names := []named{"a", "b", "c"}
	for i := range claims {
		claims[i].budget, claims[i].of = b, names[i%len(names)]
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
		larges, held := 0, map[string]int64{}
		for i := range claims {
			if claims[i].Held > smallClaim {
				large += claims[i].Held
				held[claims[i].of.Client()] += claims[i].Held
				larges++
			} else {
				small += claims[i].Held
			}
		}
		if small != b.small.Load() || large != b.large.Load() || larges != b.larges {
			t.Fatalf("small %d, want %d; large %d, want %d; %d large claims, want %d", b.small.Load(), small, b.large.Load(), large, b.larges, larges)
		}
		if !maps.Equal(held, b.shares.held) || len(b.shares.waiting) != 0 {
			t.Fatalf("clients hold %v, want %v; %v wait", b.shares.held, held, b.shares.waiting)
		}
	}
}

type named string

func (n named) Client() string { return string(n) }

// A client that holds half of the room gets no further large claim while another
// client waits. Its large claims may grow, it may have small claims, and other
// clients get large ones. If nobody else waits, it gets what there is.
func TestBudgetShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(64 * mib)
		new := func(who named) *Claim { return &Claim{budget: b, of: who} }
		first, second := new("a"), new("a")
		if !first.Grow(20*mib) || !second.Grow(10*mib) {
			t.Fatal("no room in an empty budget")
		}
		if c := new("a"); !c.GrowNow(5 * mib) {
			t.Error("a large claim is rejected although nobody waits")
		} else {
			c.Release()
		}
		got := make(chan bool)
		other := new("b")
		go func() { got <- other.Grow(40 * mib) }()
		synctest.Wait()
		if new("a").GrowNow(5 * mib) {
			t.Error("a client that has half got a third large claim while another client waits")
		}
		if again := second.Another(); again.GrowNow(5 * mib) {
			t.Error("a client that has half got another large claim through Another")
		}
		if !second.GrowNow(mib) || !new("a").GrowNow(mib) {
			t.Error("a large claim may not grow, or a small one is rejected")
		}
		third := new("c")
		if !third.GrowNow(5 * mib) {
			t.Error("a client that has nothing is rejected")
		}
		third.Release()
		first.Release()
		if !<-got {
			t.Error("the claim that waited got no room after the release")
		}
		other.Release()
		go func() { got <- new("a").Grow(60 * mib) }()
		synctest.Wait()
		if !new("a").GrowNow(30 * mib) {
			t.Error("a large claim is rejected although only the client itself waits")
		}
		<-got

		b = NewBudget(64 * mib)
		new("a").Grow(10 * mib)
		go func() { got <- new("b").Grow(50 * mib) }()
		synctest.Wait()
		if !new("c").GrowNow(30 * mib) {
			t.Error("the only large claim of a client is rejected")
		}
		<-got
	})
}
