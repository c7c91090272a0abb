package ctl

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"assetledger/ledger"
)

var statementCommand = command{
	Words:   "statement",
	Args:    "CONTAINER",
	Purpose: "show a balance from one moment to another, with each change",
	Notes: "It has the balance before -from, each change with its commit and the balance after it, and the balance after\n" +
		"-to. Without -key the stacks of all keys are summed. Without -to, or with a time to come, it ends with the last commit.\n" +
		"WHAT says to or from which container, and which commit it reverses or was reversed by. CSV and JSON have them as\n" +
		"counterparty_id, counterparty (the name), reverses and reversed_by.\n" + commitsNote + "\n" + amountsNote,
	Examples: [2]string{"statement users/42 -class EUR -from 2026-01-01 -to 2026-01-31", "statement 1 -class EUR -from 100 -to 200 -o csv"},
	List:     true,
	Setup: func(set *flag.FlagSet) action {
		s := &statement{class: reference{kind: "CLASS"}, key: anyKey()}
		set.Var(&s.class, "class", "of this `CLASS`; needed if the container holds several")
		set.Var(&s.key, "key", "of the stack of this `KEY` alone")
		s.declare(set, false)
		return s.run
	},
}

// A statement is computed from the history of a container, oldest first. Every entry
// contains the balance of its stack afterwards, which must agree with the entries
// before.
type statement struct {
	class reference
	key   number
	span

	c       *call
	of      *classData
	path    string             // of the container
	stacks  map[int64]*big.Int // by key
	balance big.Int            // the sum of the stacks
	t       *table
	begun   bool // the opening balance was shown
	any     bool // a change was
	commits commitReader
}

func (s *statement) run(c *call) (err error) {
	ref, err := c.ref(0, "CONTAINER")
	if err != nil {
		return err
	}
	if err := s.settle(); err != nil {
		return err
	}
	s.c, s.path, s.stacks = c, "/v1/read/container/"+ref, map[int64]*big.Int{}
	if s.class.value == "" {
		if s.class.value, err = s.onlyClass(); err != nil {
			return err
		}
	}
	if s.of, err = c.class(s.class.value); err != nil {
		return err
	}
	if s.of.Fungible != nil && !*s.of.Fungible {
		return usagef("a statement is of quantities, and class %s has instances: see ledgerctl history", s.class.value)
	}
	if err := s.compare(); err != nil {
		return err
	}
	if s.to.word == "" || s.to.at.After(time.Now()) { // pinned, so that pages and balances are of one end
		last, err := c.lastSeq()
		if err != nil {
			return err
		}
		if err := s.to.Set(strconv.FormatInt(last, 10)); err != nil {
			return err
		}
	}
	if err := s.open(); err != nil {
		return err
	}
	s.commits = commitReader{c: c, left: allCommits}
	s.t = c.newTable(numeric("global_seq"), text("committed_at"), text("op"), numeric("key"), numeric("change"), numeric("balance"), text("what"), text("metadata"))
	if c.csv() {
		s.t.columns = append(s.t.columns[:6], text("metadata"), numeric("counterparty_id"), text("counterparty"), numeric("reverses"), numeric("reversed_by"))
	}
	if err := s.changes(); err != nil {
		return err
	}
	s.end()
	return nil
}

// compare refuses a statement whose end is before its beginning, when one of them is
// a commit and the other a time. Otherwise the opening balance would be shown as that
// of the end. If the commit can't be read, they are not compared.
func (s *statement) compare() error {
	if s.from.word == "" || s.to.word == "" || s.from.seq.given == s.to.seq.given {
		return nil
	}
	timed := s.span
	m := &timed.from
	if !m.seq.given {
		m = &timed.to
	}
	a, err := s.c.peek("/v1/read/commit/"+m.seq.String(), nil)
	if err != nil || a.Status != http.StatusOK {
		return err
	}
	var page struct {
		Data struct {
			At time.Time `json:"committed_at"`
		}
	}
	if err := a.decode(&page); err != nil {
		return err
	}
	*m = moment{at: page.Data.At, word: m.word}
	return timed.ordered()
}

// onlyClass returns the class that all stacks now in the container have.
func (s *statement) onlyClass() (class string, err error) {
	a, err := s.c.get(s.c.readURL, s.path+"/balances", url.Values{"limit": {strconv.Itoa(maxListLimit)}})
	if err != nil {
		return "", err
	}
	list, err := a.entries()
	if err != nil {
		return "", err
	}
	for _, raw := range list {
		var e entry
		if err := a.part(raw).decode(&e); err != nil {
			return "", err
		}
		if class != "" && class != string(e["class_id"]) {
			return "", usagef("%s holds several classes: say which with -class", s.c.args[0])
		}
		class = string(e["class_id"])
	}
	if class == "" {
		return "", usagef("%s holds nothing now: say with -class what the statement is of", s.c.args[0])
	}
	return class, nil
}

// filters returns the parameters that select the stacks.
func (s *statement) filters() url.Values {
	q := url.Values{"class_id": {strconv.FormatInt(s.of.ClassID, 10)}, "limit": {strconv.Itoa(maxListLimit)}}
	setQuery(q, "key", &s.key)
	return q
}

// open reads the balance before the statement.
func (s *statement) open() error {
	before := s.from.before()
	if before == nil {
		return nil
	}
	q := s.filters()
	before.ask(q, "at")
	_, err := s.c.pages(s.path+"/balances", q, true, (*answer).check, func(a *answer) error {
		var page struct {
			Balances []struct {
				ClassID       int64 `json:"class_id"`
				Key, Quantity int64
			}
		}
		if err := a.decode(&page); err != nil {
			return err
		}
		for _, b := range page.Balances {
			if b.ClassID != s.of.ClassID {
				return notALedgers(a.URL, "it has class %d", b.ClassID)
			}
			s.stacks[b.Key] = big.NewInt(b.Quantity)
			s.balance.Add(&s.balance, s.stacks[b.Key])
		}
		return nil
	})
	var refused *apiError
	if errors.As(err, &refused) && (refused.Status == http.StatusNotFound || refused.Status == http.StatusForbidden) {
		return nil // it was made later; or it is not there, or not for this token, as its history then says
	}
	return err
}

// changes shows the changes, and the metadata of their commits.
func (s *statement) changes() error {
	q := s.filters()
	q.Set("order", "oldest")
	s.from.ask(q, "from")
	s.to.ask(q, "to")
	if s.to.seq.given {
		q.Set("min_seq", s.to.seq.String())
	}
	_, err := s.c.pages(s.path+"/history", q, true, s.c.refusal, func(a *answer) error {
		list, err := a.entries()
		if err == nil {
			err = s.begin(a)
		}
		if err == nil {
			err = s.commits.expect(a, list)
		}
		if err != nil {
			return err
		}
		for _, raw := range list {
			if err := s.change(a.part(raw)); err != nil {
				return err
			}
		}
		if !s.c.json() {
			s.t.flush()
		}
		return s.c.out.Flush()
	})
	return err
}

// change shows one entry, unless it only changes what is held, which leaves the
// balance as it is.
func (s *statement) change(a *answer) error {
	var e struct {
		Seq      int64  `json:"global_seq"`
		At       string `json:"committed_at"`
		Op       string
		Key      int64
		Change   json.Number
		Quantity *int64
		Hold     int64 `json:"hold_id"`
	}
	if err := a.decode(&e); err != nil {
		return err
	}
	if e.Hold != 0 {
		return nil
	}
	change, ok := new(big.Int).SetString(e.Change.String(), 10)
	if !ok || e.Quantity == nil {
		return notALedgers(a.URL, "commit %d changes no stack", e.Seq)
	}
	stack := s.stacks[e.Key]
	if stack == nil {
		stack = new(big.Int)
		s.stacks[e.Key] = stack
	}
	if stack.Add(stack, change); stack.Cmp(big.NewInt(*e.Quantity)) != 0 {
		return notALedgers(a.URL, "commit %d leaves %d of key %d, and %v must be left", e.Seq, *e.Quantity, e.Key, stack)
	}
	if change.Sign() == 0 {
		return nil // it was moved within a grid
	}
	s.balance.Add(&s.balance, change)
	more := entry{}
	if err := a.decode(&more); err != nil {
		return err
	}
	if err := s.commits.relate(more); err != nil {
		return err
	}
	if s.c.json() {
		return s.json(a.Body, more)
	}
	signed := s.of.show(change.String())
	if change.Sign() >= 0 && !s.c.csv() {
		signed = "+" + signed
	}
	row := []any{e.Seq, s.c.timeCell(e.At), e.Op, e.Key, signed, s.shown()}
	for _, column := range s.t.columns[len(row):] {
		cell, err := s.c.cell(more, column.name)
		if err != nil {
			return err
		}
		row = append(row, cell)
	}
	s.t.row(row...)
	return nil
}

// shown returns the balance with the class's decimals.
func (s *statement) shown() string { return s.of.show(s.balance.String()) }

// edge shows the balance before or after all changes.
func (s *statement) edge(name string, m *moment) {
	seq, at := none, none
	if m.seq.given {
		seq = m.seq.String()
	} else if m.word != "" {
		at = s.c.timeCell(m.at.Format(time.RFC3339Nano))
	}
	row := []any{seq, at, name, none, none, s.shown()}
	for range s.t.columns[len(row):] {
		row = append(row, none)
	}
	s.t.row(row...)
}

// begin shows the opening balance, before the first page.
func (s *statement) begin(a *answer) error {
	if s.begun {
		return nil
	}
	s.begun = true
	switch {
	case s.c.ndjson():
	case s.c.json():
		var page struct {
			Data struct {
				ID int64 `json:"container_id"`
			}
		}
		if err := a.decode(&page); err != nil {
			return err
		}
		fmt.Fprintf(s.c.out, `{"container_id":%d,"class_id":%d`, page.Data.ID, s.of.ClassID)
		if s.of.Code != "" {
			fmt.Fprintf(s.c.out, `,"code":%s`, ledger.AppendString(nil, s.of.Code))
		}
		if s.key.given {
			fmt.Fprintf(s.c.out, `,"key":%d`, s.key.value)
		}
		fmt.Fprintf(s.c.out, `,"opening":%v,"entries":[`, &s.balance)
	default:
		s.edge("opening", &s.from)
	}
	return nil
}

// json writes an entry with the balance after it and what its commit says besides.
func (s *statement) json(raw []byte, e entry) error {
	out := s.c.out
	if s.any && !s.c.ndjson() {
		out.WriteByte(',')
	}
	s.any = true
	s.c.raw(raw[:len(raw)-1])
	fmt.Fprintf(out, `,"balance":%v`, &s.balance)
	if name, err := s.c.cell(e, "counterparty"); err != nil {
		return err
	} else if name != none {
		e["counterparty"] = ledger.AppendString(nil, name)
	}
	for _, name := range []string{"metadata", "principal", "counterparty_id", "counterparty", "reverses", "reversed_by"} {
		if len(e[name]) > 0 {
			fmt.Fprintf(out, `,"%s":`, name)
			s.c.raw(e[name])
		}
	}
	out.WriteByte('}')
	if s.c.ndjson() {
		out.WriteByte('\n')
	}
	return nil
}

// end shows the closing balance.
func (s *statement) end() {
	switch {
	case s.c.ndjson():
	case s.c.json():
		fmt.Fprintf(s.c.out, `],"closing":%v}`+"\n", &s.balance)
	default:
		s.edge("closing", &s.to)
		s.t.flush()
	}
}
