package memfs

import "math/rand/v2"

// A Chooser decides what happens to each thing in flight in a crash or a failed sync:
// it returns one of 0 … n-1. For a sector, the last choice is that it is garbled.
type Chooser interface{ Choose(n int) int }

// dice makes all choices of a disk: the fates of things in flight, which a test can
// enumerate (see Choices), and the rest, such as the noise in garbled sectors, which is
// always random.
type dice struct {
	fates Chooser
	noise *rand.Rand
}

func (d *dice) fill(b []byte) {
	for i := range b {
		b[i] = byte(d.noise.Uint32())
	}
}

type randomChooser struct{ *rand.Rand }

func (r randomChooser) Choose(n int) int { return r.IntN(n) }

// Random returns a Chooser that chooses at random, from a seed.
func Random(seed uint64) Chooser { return randomChooser{rand.New(rand.NewPCG(seed, 0x6d656d6673))} }

// Choices is a Chooser that goes through all combinations of choices, like an
// odometer:
//
//	for c := new(Choices); c.Next(); {
//		// run a crash whose choices c makes
//	}
type Choices struct {
	made    []choice
	at      int
	started bool
}

type choice struct{ n, chosen int }

// Choose returns the choice for this round.
func (c *Choices) Choose(n int) int {
	if c.at == len(c.made) {
		c.made = append(c.made, choice{n: n})
	}
	k := c.made[c.at]
	if k.n != n {
		panic("memfs: the number of options is not determined by the previous choices")
	}
	c.at++
	return k.chosen
}

// Next begins the next round. It returns false when there is none.
func (c *Choices) Next() bool {
	if !c.started {
		c.started = true
		return true
	}
	c.made = c.made[:c.at]
	for i := len(c.made) - 1; i >= 0; i-- {
		if c.made[i].chosen++; c.made[i].chosen < c.made[i].n {
			c.made, c.at = c.made[:i+1], 0
			return true
		}
	}
	return false
}

// Count returns the number of combinations, for a run whose choices do not depend
// on each other. It must be called after one run. If there are more combinations than
// limit, Count returns limit and false.
func (c *Choices) Count(limit int) (total int, within bool) {
	total = 1
	for _, k := range c.made[:c.at] {
		if total *= k.n; total > limit {
			return limit, false
		}
	}
	return total, true
}
