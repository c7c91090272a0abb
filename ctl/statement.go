package ctl

import (
	"cmp"
	"errors"
	"flag"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"assetledger/ledger"
)

var statementCommand = command{
	Words:   "statement",
	Args:    "CONTAINER",
	Purpose: "show a balance over a period, with each change",
	Notes: "It has the balance before -from, each change with its commit and the balance after it, and the balance after\n" +
		"-to. Without -key the stacks of all keys are summed. Without -to, or with a future time, it ends with the last commit.\n" +
		"WHAT shows the other container of a transfer, and the commit that the row's commit reverses or that\n" +
		"reversed it. CSV and JSON, which has a line for each row, have them as counterparty_id, counterparty (the name),\n" +
		"reverses and reversed_by.\n" + commitsNote + "\n" + amountsNote,
	Examples: [2]string{"statement users/42 -class EUR -from 2026-01-01 -to 2026-01-31", "statement 1 -class EUR -from 100 -to 200 -o csv"},
	List:     true,
	Setup: func(set *flag.FlagSet) action {
		s := &statement{class: reference{kind: "CLASS"}, key: anyKey()}
		set.Var(&s.class, "class", "only this `CLASS`; required if the container holds several")
		set.Var(&s.key, "key", "only the stack with this `KEY`")
		s.declareTimes(set)
		return s.run
	},
}

// A statement is computed from the history of a container, oldest first. Every entry that
// changes a stack has the stack's balance after the change, which must agree with earlier
// entries.
type statement struct {
	class reference
	key   number
	span

	c       *call
	of      *classData
	path    string          // path of the container
	stacks  map[int64]int64 // balance of each stack, by key
	balance int64           // sum of the stacks: the ledger has no more of a class than an int64 holds
	t       *table
	begun   bool // the opening balance was shown
}

// Columns of a statement as a table and as CSV, and its fields as JSON.
const (
	statementFields view = "global_seq committed_at op key change balance what metadata"
	statementCSV    view = "global_seq committed_at op key change balance metadata counterparty_id counterparty reverses reversed_by"
	statementJSON   view = "global_seq committed_at operation_index op class_id key change quantity balance metadata principal counterparty_id counterparty reverses reversed_by"
)

func (s *statement) run(c *call) (err error) {
	ref, err := c.ref(0, "CONTAINER")
	if err = cmp.Or(err, s.settle()); err != nil {
		return err
	}
	if s.from.word != "" && s.to.word != "" && s.from.seq.given != s.to.seq.given {
		return usagef("give the beginning and the end of a statement both as commits or both as times")
	}
	s.c, s.path, s.stacks = c, "/v1/read/container/"+ref, map[int64]int64{}
	if s.class.value == "" {
		s.class.value, err = s.onlyClass()
	}
	if err == nil {
		s.of, err = c.class(s.class.value)
	}
	if err == nil && s.of.Fungible != nil && !*s.of.Fungible {
		err = usagef("a statement shows quantities, but class %s has instances: see ledgerctl history", s.class.value)
	}
	if err == nil && (s.to.word == "" || s.to.at.After(time.Now())) { // fix the end, so that it is the same for all pages and balances
		var last int64
		if last, err = c.lastSeq(); err == nil {
			err = s.to.Set(strconv.FormatInt(last, 10))
		}
	}
	if err == nil {
		err = s.open()
	}
	if err != nil {
		return err
	}
	c.related = &commitReader{c: c, left: math.MaxInt}
	switch {
	case c.csv():
		s.t = c.listTable(statementCSV)
	case c.json():
		s.t = c.newTable() // stays empty
	default:
		s.t = c.listTable(statementFields)
	}
	if err := s.changes(); err != nil {
		return err
	}
	err = s.edge("closing", &s.to)
	s.t.flush()
	return err
}

// eachStack calls the function do for each of the container's stacks that the query selects.
func (s *statement) eachStack(q url.Values, check func(*answer) error, do func(class, key, quantity int64) error) error {
	q.Set("limit", strconv.Itoa(maxListLimit))
	_, err := s.c.pages(s.path+"/balances", q, true, check, func(a *answer) error {
		return s.c.each(a, func(_ entry, raw *answer) error {
			var b struct {
				ClassID       int64 `json:"class_id"`
				Key, Quantity int64
			}
			return cmp.Or(raw.decode(&b), do(b.ClassID, b.Key, b.Quantity))
		})
	})
	return err
}

// onlyClass returns the class of all stacks that are in the container now.
func (s *statement) onlyClass() (class string, err error) {
	err = s.eachStack(url.Values{}, s.c.refusal, func(id, _, _ int64) error {
		text := strconv.FormatInt(id, 10)
		if class != "" && class != text {
			return usagef("%s holds several classes: choose one with -class", s.c.args[0])
		}
		class = text
		return nil
	})
	if err == nil && class == "" {
		err = usagef("%s is empty now: choose the class of the statement with -class", s.c.args[0])
	}
	return class, err
}

// filters returns the query parameters that select the stacks.
func (s *statement) filters() url.Values {
	q := url.Values{"class_id": {strconv.FormatInt(s.of.ClassID, 10)}, "limit": {strconv.Itoa(maxListLimit)}}
	setQuery(q, "key", &s.key)
	return q
}

// open reads the opening balance.
func (s *statement) open() error {
	if s.from.isFirst() {
		return nil
	}
	before, q := s.from.shifted(-1), s.filters()
	before.ask(q, "at")
	err := s.eachStack(q, (*answer).check, func(class, key, quantity int64) error {
		if class != s.of.ClassID {
			return notALedgers(s.c.readURL+s.path, "it has %d of class %d", quantity, class)
		}
		s.stacks[key] = quantity
		s.balance += quantity
		return nil
	})
	if refused, ok := errors.AsType[*apiError](err); ok && (refused.Status == http.StatusNotFound || refused.Status == http.StatusForbidden) {
		return nil // the container was created later; if not, reading its history fails too
	}
	return err
}

// changes shows the changes, with the metadata of their commits.
func (s *statement) changes() error {
	q := s.filters()
	q.Set("order", "oldest")
	q.Set("payer", "true")
	s.span.ask(q, false)
	if s.to.seq.given {
		q.Set("min_seq", s.to.seq.String())
	}
	_, err := s.c.pages(s.path+"/history", q, true, s.c.refusal, func(a *answer) error {
		if !s.begun {
			s.begun = true
			if err := s.edge("opening", &s.from); err != nil {
				return err
			}
		}
		err := s.c.each(a, s.change)
		s.t.flush()
		return cmp.Or(err, s.c.out.Flush())
	})
	return err
}

// change shows one entry. It skips entries that don't change the balance, such as those
// of holds.
func (s *statement) change(e entry, a *answer) error {
	var is struct {
		Seq              int64 `json:"global_seq"`
		Key              int64
		Change, Quantity *int64
		Hold             int64 `json:"hold_id"`
	}
	if err := a.decode(&is); err != nil || is.Hold != 0 {
		return err
	}
	if is.Change == nil || is.Quantity == nil {
		return notALedgers(a.URL, "commit %d changes no stack", is.Seq)
	}
	if s.stacks[is.Key] += *is.Change; s.stacks[is.Key] != *is.Quantity {
		return notALedgers(a.URL, "commit %d leaves %d of key %d instead of %d", is.Seq, *is.Quantity, is.Key, s.stacks[is.Key])
	}
	if *is.Change == 0 {
		return nil // the stack was moved within a grid
	}
	s.balance += *is.Change
	e["balance"] = strconv.AppendInt(nil, s.balance, 10)
	return s.show(e)
}

// edge shows the opening or closing balance.
func (s *statement) edge(name string, m *moment) error {
	e := entry{"op": ledger.AppendString(nil, name), "class_id": strconv.AppendInt(nil, s.of.ClassID, 10), "balance": strconv.AppendInt(nil, s.balance, 10)}
	if m.seq.given {
		e["global_seq"] = []byte(m.seq.String())
	} else if m.word != "" {
		e["committed_at"] = ledger.AppendString(nil, m.at.Format(time.RFC3339Nano))
	}
	return s.show(e)
}

// show shows a row of the statement. As JSON, each is a line.
func (s *statement) show(e entry) error {
	if !s.c.json() {
		return s.c.addRow(s.t, e)
	}
	name, err := s.c.cell(e, "counterparty")
	if name != none {
		e["counterparty"] = ledger.AppendString(nil, name)
	}
	var facts []fact
	for _, field := range strings.Fields(string(statementJSON)) {
		if value := e[field]; len(value) > 0 {
			facts = append(facts, fact{field, value})
		}
	}
	s.c.writeObject(facts)
	return err
}
