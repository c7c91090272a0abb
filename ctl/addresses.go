package ctl

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"assetledger/ledger"
)

// A base may be a list of addresses with commas: of the daemons that write one
// ledger in turn, or of read daemons of it. One of them is in use. When there is
// no connection to it, or it is not the writer, the next one comes.

// addresses are those of a base.
func addresses(base string) []string { return strings.Split(base, ",") }

// address is the one of a base that is in use.
func (c *client) address(base string) string {
	if !strings.Contains(base, ",") {
		return base
	}
	list := addresses(base)
	c.mu.Lock()
	defer c.mu.Unlock()
	return list[c.inUse[base]%len(list)]
}

// turn goes on to the next address of a base, if the one that failed is in use.
func (c *client) turn(base, failed string) {
	if !strings.Contains(base, ",") || c.address(base) != failed {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inUse == nil {
		c.inUse = map[string]int{}
	}
	c.inUse[base]++
}

// eachAddress calls ask with one address of a base after the other, as long as
// what came of it says that another may do. What may have taken effect is not
// asked elsewhere here: whoever asks again with the same key finds the next
// address in use.
func (c *client) eachAddress(ctx context.Context, base string, ask func(address string) (*answer, error)) (a *answer, err error) {
	for range addresses(base) {
		address := c.address(base)
		a, err = ask(address)
		var silent *noAnswer
		switch {
		case errors.As(err, &silent):
			if c.turn(base, address); !silent.neverSent() {
				return a, err
			}
		case notTheWriter(a):
			c.turn(base, address)
		default:
			return a, err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return a, err
}

// notTheWriter reports whether an answer is that of a daemon that stands by.
func notTheWriter(a *answer) bool {
	return a != nil && a.status == http.StatusServiceUnavailable && newAPIError(a).Code == string(ledger.NotTheWriter)
}
