package wal

import "testing"

// TestRulesTotal tries every combination of facts. Exactly one rule of each table
// must match.
func TestRulesTotal(t *testing.T) {
	for name, c := range map[string]struct {
		table []rule
		all   facts
	}{"directory": {dirRules, dirFacts}, "tail": {tailRules, tailFacts}} {
		used := map[string]bool{}
		for f := facts(0); f <= c.all; f++ {
			if f&^c.all != 0 {
				continue
			}
			n := 0
			for i := range c.table {
				if c.table[i].holds(f) {
					n++
					used[c.table[i].name] = true
				}
			}
			if f&farStray != 0 && f&stray == 0 && name == "tail" {
				if n > 1 {
					t.Errorf("tail: %d rules hold for the impossible %05b, want at most 1", n, f)
				}
				continue
			}
			if n != 1 {
				t.Errorf("%s: %d rules hold for %05b, want 1", name, n, f)
			}
		}
		for _, r := range c.table {
			if !used[r.name] {
				t.Errorf("%s: rule %q never holds", name, r.name)
			}
			if r.want&^r.mask != 0 {
				t.Errorf("%s: rule %q needs facts outside of its mask", name, r.name)
			}
			if (r.then == refuse) != (r.why != "") {
				t.Errorf("%s: rule %q: a rejection must have a reason, and no other rule may have one", name, r.name)
			}
		}
	}
}

func TestTailRules(t *testing.T) {
	for _, c := range []struct {
		f    facts
		want string
		then verdict
	}{
		{0, "clean end", goOn},
		{stray, "torn tail", zeroTail},
		{stray | farStray, "unexplained bytes", refuse},
		{stray | laterSeq, "damage before the end", refuse},
		{stray | misfit, "frame does not fit", refuse},
		{acked, "acknowledged frames missing", refuse},
		{tailFacts, "acknowledged frames missing", refuse},
	} {
		if r := decide(tailRules, c.f); r.name != c.want || r.then != c.then {
			t.Errorf("%05b: got rule %q, want %q", c.f, r.name, c.want)
		}
	}
}
