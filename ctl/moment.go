package ctl

import (
	"fmt"
	"net/url"
	"time"
)

// A moment is a flag that holds a commit's number, a time of RFC 3339, or a date,
// which stands for that whole day in UTC: its first nanosecond or, if last is
// set, its last one.
type moment struct {
	last bool
	seq  number    // given: it is a commit
	at   time.Time // zero: it is not a time
	word string    // as it was given
}

// momentUsage says what a moment may be.
const momentUsage = "a commit, a time such as 2026-01-31T12:00:00Z, or a date (UTC)"

func (m *moment) Set(s string) error {
	*m = moment{last: m.last, seq: anyKey(), word: s}
	if m.seq.Set(s) == nil {
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		if at, err = time.Parse(time.DateOnly, s); err == nil && m.last {
			at = at.AddDate(0, 0, 1).Add(-1)
		}
	}
	if err != nil {
		return fmt.Errorf("it must be %s", momentUsage)
	}
	m.at = at.UTC()
	return nil
}

func (m *moment) String() string { return m.word }

// ask sets the parameter prefix_seq or prefix_time of a query, if the flag was given.
func (m *moment) ask(q url.Values, prefix string) {
	switch {
	case m.seq.given:
		q.Set(prefix+"_seq", m.seq.String())
	case m.word != "":
		q.Set(prefix+"_time", m.at.Format(time.RFC3339Nano))
	}
}

// before is the last moment before this one, nil for the beginning of the ledger.
func (m *moment) before() *moment {
	b := *m
	switch {
	case b.word == "" || b.seq.given && b.seq.value <= 1:
		return nil
	case b.seq.given:
		b.seq.value--
	default:
		b.at = b.at.Add(-1)
	}
	return &b
}
