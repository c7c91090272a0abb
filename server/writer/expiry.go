package writer

import (
	"fmt"
	"time"

	"assetledger/ledger"
)

// expiryCheck is the maximum time between two checks of the clock while a hold can
// expire, because the clock may be changed in between.
const expiryCheck = time.Second / 2

// releaseBytes is the maximum size of one ReleaseHold in a record, in bytes: its
// kind, its mask and the hold's id. releaseRest is an upper bound for the size of the
// rest of the record.
const (
	releaseBytes = 1 + 1 + 9
	releaseRest  = 64
)

// expire releases expired holds in a commit that the ledger itself makes. It returns
// the time after which it must be called again: 0 for at once, and a negative time
// if no hold can expire or this daemon releases none. Requests get their turns between
// two commits that release holds.
//
// It uses the time of the log: a hold has expired when the time of the filling
// batch is at or after the hold's expiry. So the commit that releases a hold is
// never dated before that expiry, even if the clock is set back.
func (s *sequencer) expire() time.Duration {
	at, ok := s.state.NextExpiry()
	if !ok || s.keepExpired || s.failed != nil || s.intake.refusing() != nil {
		return -1
	}
	now := max(s.now(), s.at)
	if at > now/int64(time.Second) {
		return min(time.Second-time.Duration(now%int64(time.Second)), expiryCheck)
	}
	if s.writable() != nil {
		return expiryCheck
	}
	most := min((s.maxBody-releaseRest)/releaseBytes, ledger.MaxOperations)
	if !s.state.Expire(s.stamp(), most, &s.expired) {
		return expiryCheck // the filling batch began earlier; it is handed over soon
	}
	if err := s.commit(nil, &s.expired, new(verdict)); err != nil && err.Code != ledger.LogUnavailable {
		panic(fmt.Sprintf("holds that have expired can't be released: %v", err))
	}
	s.poll()
	s.handOver()
	return 0
}

// expireFirst releases the holds that expired while the ledger was stopped, unless the
// log accepts no commits or this daemon releases none. The group caughtUp is done when
// these releases are durable, or when the log fails or stalls first.
func (s *sequencer) expireFirst() {
	for s.expire() == 0 {
	}
	s.await(s.caughtUp)
}
