package reader

import (
	"runtime"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

// pastTurns is a semaphore for reads that go far back in a container's history.
// Half of the cores, rounded up, may run such reads at a time, so that cores and memory
// remain for other requests. The number is half of GOMAXPROCS, which by default is one
// more than the number of cores. Most reads examine little, and need no turn.
type pastTurns chan struct{}

// pastPatience is the maximum time that a read waits for its turn.
const pastPatience = 10 * time.Second

func newPastTurns() pastTurns { return make(pastTurns, max(1, runtime.GOMAXPROCS(0)/2)) }

// A pastTurn is the turn of one read. The first call to more takes it.
type pastTurn struct {
	turns pastTurns
	r     *reading
	taken bool
}

func (p pastTurns) turn(r *reading) *pastTurn { return &pastTurn{turns: p, r: r} }

var errGone = ledger.Errorf(ledger.Overloaded, "The client has gone.") // nobody receives this

// more continues a long read: it waits for a turn if the read has none, and then
// claims memory for the given number of additional bytes. A read calls it repeatedly,
// with the bytes allocated since the last call. The error is meant for the client:
// Overloaded if there is no turn within pastPatience or no room in the budget, or
// errGone if the client has disconnected.
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

// end releases the turn, if the read has one.
func (t *pastTurn) end() {
	if t.taken {
		<-t.turns
		t.taken = false
	}
}
