package reader

import (
	"assetledger/ledger"
	"assetledger/server/auth"
)

// A reach says what of a read clients see who are limited to the containers of
// certain owners.
type reach uint8

const (
	reachesNobody    reach = iota // it shows what all owners do: not for them
	reachesAll                    // it shows nothing of any owner
	reachesContainer              // the id is a container's: theirs only
	reachesInstance               // the id is an instance's: what stands in theirs only
	reachesHold                   // the id is a hold's: of theirs only
	reachesList                   // it leaves out what is not theirs
)

var notForLimited = ledger.Errorf(ledger.Forbidden, "This shows what belongs to every owner, and the token is limited to some.")

// mayAsk judges what needs no look at the state.
func (r *reading) mayAsk(e *endpoint) *ledger.Error {
	switch {
	case !r.Who.Limited():
		return nil
	case e.reach == reachesNobody:
		return notForLimited
	}
	return nil
}

// maySee judges, under the lock, whether the client may see what it asks for.
func (r *reading) maySee(s *ledger.State) *ledger.Error {
	if !r.Who.Limited() {
		return nil
	}
	switch r.reach {
	case reachesContainer:
		return s.MayReadContainer(r.id, r.Who.Owners)
	case reachesInstance:
		return s.MayReadInstance(r.id, r.Who.Owners)
	case reachesHold:
		return s.MayReadHold(r.id, r.Who.Owners)
	}
	return nil
}

// stillLetIn reports whether the client of a stream would be let in again.
func (r *reading) stillLetIn() bool {
	return r.Who == nil || r.daemon.api.Gate.Still(r.Who, auth.Read)
}
