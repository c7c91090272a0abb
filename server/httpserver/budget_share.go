package httpserver

// Shares: while claims of other clients wait, a client gets no further large claim if it
// would then hold more than half of what large claims may hold. So a client with many
// connections can't grab all the room that is released. The rule limits neither the
// size of one claim nor the growth of a claim that is already large. Stopping a growing
// claim would help nobody, since it holds the room that others wait for.

// A claimant is what a claim is made for.
type claimant interface {
	Client() string // name of the client
}

// shares records how much of a budget each client holds. The budget's mu guards it.
type shares struct {
	held    map[string]int64 // bytes in large claims, by client
	waiting map[string]int   // number of claims that wait for room, by client
}

// whose returns the client of the claim, or "" if it has none. The caller holds mu.
func (c *Claim) whose() string {
	if c.client == "" && c.of != nil {
		c.client = c.of.Client()
	}
	return c.client
}

// Another returns a new, empty claim of the same budget for the same client.
func (c *Claim) Another() Claim { return Claim{budget: c.budget, client: c.whose()} }

// holds records that the client of the claim holds n more bytes in large claims.
func (s *shares) holds(c *Claim, n int64) {
	who := c.whose()
	if s.held[who] += n; s.held[who] == 0 {
		delete(s.held, who)
	}
}

// waits records that n more claims of the claim's client wait.
func (s *shares) waits(c *Claim, n int) {
	who := c.whose()
	if s.waiting[who] += n; s.waiting[who] == 0 {
		delete(s.waiting, who)
	}
}

// exceeds reports whether a claim that is about to become large, with n bytes, must
// leave the room to waiting clients: its client already holds a large claim, and with
// this one its large claims would exceed the limit. The argument most is that limit, in
// bytes.
func (s *shares) exceeds(c *Claim, n, most int64) bool {
	others := len(s.waiting)
	if others == 0 {
		return false
	}
	who := c.whose()
	if s.waiting[who] > 0 {
		others--
	}
	return others > 0 && s.held[who] > 0 && s.held[who]+n > most
}
