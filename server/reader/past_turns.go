package reader

import (
	"runtime"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

// pastTurns bounds how many reads that go far back in a container's history run
// at a time, so that they leave a core and memory to others. Most reads examine
// little, and need no turn.
type pastTurns chan struct{}

// pastPatience is how long a read waits for its turn.
const pastPatience = 10 * time.Second

func newPastTurns() pastTurns { return make(pastTurns, max(1, runtime.GOMAXPROCS(0)/2)) }

// A pastTurn is the turn of one read, which begins with the first call of more.
type pastTurn struct {
	turns pastTurns
	r     *reading
	taken bool
}

func (p pastTurns) turn(r *reading) *pastTurn { return &pastTurn{turns: p, r: r} }

var errGone = ledger.Errorf(ledger.Overloaded, "The client has gone.") // so nobody reads this

// more is called by a read that goes on for long, with the bytes of memory that
// it has taken since. The error is for the client, if that is still there.
func (t *pastTurn) more(bytes int64) error {
	if err := t.begin(); err != nil {
		return err
	}
	if t.r.R.Context().Err() != nil {
		return errGone
	}
	if err := t.r.Charge(bytes); err != nil {
		return err
	}
	return nil
}

func (t *pastTurn) begin() error {
	if t.taken {
		return nil
	}
	patience := time.NewTimer(pastPatience)
	defer patience.Stop()
	select {
	case t.turns <- struct{}{}:
		t.taken = true
		return nil
	case <-t.r.R.Context().Done():
		return errGone
	case <-patience.C:
		return httpserver.Overloaded
	}
}

// end gives the turn to the next read.
func (t *pastTurn) end() {
	if t.taken {
		<-t.turns
		t.taken = false
	}
}
