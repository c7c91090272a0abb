package reader

import (
	"assetledger/ledger"
	"assetledger/server/auth"
)

// A reach says which part of a read is visible to a token that is limited to the
// containers of certain owners.
type reach uint8

const (
	reachesNobody    reach = iota // nothing: the read shows the data of all owners
	reachesAll                    // everything: the read shows no owner's data
	reachesContainer              // everything, but only if the container in the path belongs to one of these owners
	reachesInstance               // everything, but only if the instance in the path is in a container of these owners
	reachesHold                   // everything, but only if the hold in the path is in a container of these owners
	reachesList                   // everything: the list omits the data of other owners
)

var notForLimited = ledger.Errorf(ledger.Forbidden, "This read shows what belongs to every owner, but the token is limited to some.")

// mayAsk returns an error if the client may not use the endpoint, whatever the
// state is.
func (r *reading) mayAsk(e *endpoint) *ledger.Error {
	switch {
	case !r.Who.Limited():
		return nil
	case e.reach == reachesNobody:
		return notForLimited
	}
	return nil
}

// maySee returns an error if the client may not see the entity in the path. If s is
// the current state, not a past one, the caller must hold the lock.
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

// stillLetIn reports whether the client of a stream is still authorized. Its token may
// have been revoked after the stream began.
func (r *reading) stillLetIn() bool {
	return r.Who == nil || r.daemon.api.Gate.Still(r.Who, auth.Read)
}
