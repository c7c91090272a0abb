package ctl

import (
	"flag"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"time"
)

// A moment is a flag for the number of a commit, a time as in RFC 3339, or a date. A
// date means the first nanosecond of the day in UTC or, if last is set, the last one.
type moment struct {
	last    bool
	seqOnly bool      // times are rejected
	seq     number    // the commit, if seq.given
	at      time.Time // the time; zero if the moment is a commit
	word    string    // the argument
}

const momentUsage = "a commit, a time such as 2026-01-31T12:00:00Z, or a date (UTC)"

func (m *moment) Set(s string) error {
	*m = moment{last: m.last, seqOnly: m.seqOnly, seq: anyKey(), word: s}
	if err := m.seq.Set(s); err == nil || m.seqOnly {
		return err
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

// ask sets the parameter <prefix>_seq or <prefix>_time of a query, if the flag was given.
func (m *moment) ask(q url.Values, prefix string) {
	switch {
	case m.seq.given:
		q.Set(prefix+"_seq", m.seq.String())
	case m.word != "":
		q.Set(prefix+"_time", m.at.Format(time.RFC3339Nano))
	}
}

// isFirst reports whether nothing can be before the moment. It may not have been given.
func (m *moment) isFirst() bool { return m.word == "" || m.seq.given && m.seq.value <= 1 }

// shifted returns the moment n commits, or n nanoseconds, later.
func (m *moment) shifted(n int64) moment {
	s := *m
	switch {
	case !s.seq.given:
		s.at = s.at.Add(time.Duration(n))
	case n < 0 || s.seq.value < math.MaxInt64:
		s.seq.value += n
	}
	return s
}

// A span holds the flags that limit a range of commits. -from and -to are inclusive,
// -after and -before are exclusive.
type span struct{ from, to, after, before moment }

// declare declares flags that take commits only. Without -to, s.to is the last possible commit.
func (s *span) declare(set *flag.FlagSet) {
	s.from.seqOnly, s.to.seqOnly, s.after.seqOnly, s.before.seqOnly = true, true, true, true
	s.to.seq.value = math.MaxInt64
	s.add(set, "SEQ", "")
}

// declareTimes declares flags that also take times.
func (s *span) declareTimes(set *flag.FlagSet) {
	s.to.last, s.after.last = true, true
	s.add(set, "SEQ|TIME", ": "+momentUsage)
}

func (s *span) add(set *flag.FlagSet, value, what string) {
	set.Var(&s.from, "from", "from this `"+value+"` on, inclusive"+what)
	set.Var(&s.to, "to", "up to this `"+value+"`, inclusive")
	set.Var(&s.after, "after", "only after this `"+value+"`")
	set.Var(&s.before, "before", "only before this `"+value+"`")
}

// ask sets the parameters of a query for a list of commits, or for a history.
func (s *span) ask(q url.Values, ofCommits bool) {
	if !ofCommits {
		s.from.ask(q, "from")
		s.to.ask(q, "to")
		return
	}
	if s.from.seq.given {
		q.Set("after", strconv.FormatInt(max(s.from.seq.value-1, 0), 10))
	}
	if next := s.to.shifted(1); next.seq.given {
		q.Set("before", next.seq.String())
	}
}

// settle replaces -after and -before by the equivalent -from and -to.
func (s *span) settle() error {
	switch {
	case s.from.word != "" && s.after.word != "":
		return usagef("-from and -after can't be combined")
	case s.to.word != "" && s.before.word != "":
		return usagef("-to and -before can't be combined")
	case s.before.word != "" && s.before.isFirst():
		return usagef("-before is %s, and there is no commit before the first", &s.before)
	}
	if s.after.word != "" {
		s.from = s.after.shifted(1)
	}
	if s.before.word != "" {
		s.to = s.before.shifted(-1)
	}
	// The span may be empty because of -after or -before. A commit and a time are not compared.
	from, next := &s.from, s.to.shifted(1)
	if from.seq.given && next.seq.given && from.seq.value > next.seq.value || !from.at.IsZero() && !s.to.at.IsZero() && from.at.After(next.at) {
		return usagef("the end is before the beginning: from %s to %s", from.said(), s.to.said())
	}
	return nil
}

// said returns the moment in the form in which it was given.
func (m *moment) said() string {
	if m.seq.given {
		return "commit " + m.seq.String()
	}
	return m.word
}
