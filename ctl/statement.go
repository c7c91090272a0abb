package ctl

import (
	"cmp"
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
		"-to. Without -key the stacks of all keys are summed. Without -to it ends with the last commit. A token that is limited\n" +
		"to owners sees no metadata.\n" + amountsNote,
	Examples: [2]string{"statement users/42 -class EUR -from 2026-01-01 -to 2026-01-31", "statement 1 -class EUR -from 100 -to 200 -o csv"},
	List:     true,
	Setup: func(set *flag.FlagSet) action {
		s := &statement{class: reference{kind: "CLASS"}, key: anyKey(), to: moment{last: true}}
		set.Var(&s.class, "class", "of this `CLASS` (needed)")
		set.Var(&s.key, "key", "of the stack of this `KEY` alone")
		set.Var(&s.from, "from", "from this `SEQ|TIME` on: "+momentUsage)
		set.Var(&s.to, "to", "up to this `SEQ|TIME`, inclusive")
		return s.run
	},
}

// A statement is made from the history of a container, oldest first. Every entry
// says what its stack holds afterwards, which must agree with the entries before.
type statement struct {
	class    reference
	key      number
	from, to moment

	c       *call
	of      *classData
	path    string             // of the container
	stacks  map[int64]*big.Int // by key
	balance big.Int            // the sum of the stacks
	t       *table
	begun   bool // the opening balance was shown
	any     bool // a change was
	commit  commitData

	noCommits bool // the token is limited to owners
}

func (s *statement) run(c *call) (err error) {
	if s.class.value == "" {
		return usagef("statement needs -class CLASS: a container may hold several")
	}
	ref, err := c.ref(0, "CONTAINER")
	if err != nil {
		return err
	}
	s.c, s.path, s.stacks = c, "/v1/read/container/"+ref, map[int64]*big.Int{}
	if s.of, err = c.class(s.class.value); err != nil {
		return err
	}
	if s.of.Fungible != nil && !*s.of.Fungible {
		return usagef("a statement is of quantities, and class %s has instances: see ledgerctl history", s.class.value)
	}
	if s.to.word == "" { // pinned, so that pages and balances are of one end
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
	s.t = c.newTable(numeric("global_seq"), text("committed_at"), text("op"), numeric("key"), numeric("change"), numeric("balance"), text("metadata"))
	if err := s.changes(); err != nil {
		return err
	}
	s.end()
	return nil
}

// filters are the parameters that name the stacks.
func (s *statement) filters() url.Values {
	q := url.Values{"class_id": {strconv.FormatInt(s.of.ClassID, 10)}, "limit": {strconv.Itoa(maxListLimit)}}
	setQuery(q, "key", &s.key)
	return q
}

// pages calls add for each page of a list.
func (s *statement) pages(what string, q url.Values, check, add func(a *answer) error) error {
	for {
		a, err := s.c.askQuietly(request{method: http.MethodGet, base: s.c.readURL, path: s.path + what, query: q})
		if err == nil {
			err = check(a)
		}
		if err == nil {
			err = add(a)
		}
		if err != nil {
			return err
		}
		switch next := a.nextCursor(); next {
		case "":
			return nil
		case q.Get("cursor"):
			return endlessList(a)
		default:
			q.Set("cursor", next)
		}
	}
}

// open reads what the stacks held before the statement.
func (s *statement) open() error {
	before := s.from.before()
	if before == nil {
		return nil
	}
	q := s.filters()
	before.ask(q, "at")
	err := s.pages("/balances", q, (*answer).check, func(a *answer) error {
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
				return fmt.Errorf("the answer of %s is not what the ledger says: it has class %d", a.url, b.ClassID)
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
	return s.pages("/history", q, s.c.refusal, func(a *answer) error {
		list, err := a.entries()
		if err == nil {
			err = s.begin(a)
		}
		if err != nil {
			return err
		}
		for _, raw := range list {
			if err := s.change(&answer{body: raw, url: a.url}); err != nil {
				return err
			}
		}
		if !s.c.json() {
			s.t.flush()
		}
		return s.c.out.Flush()
	})
}

// change shows one entry, unless it is of what is held, which is no other balance.
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
		return fmt.Errorf("the answer of %s is not what the ledger says: commit %d changes no stack", a.url, e.Seq)
	}
	stack := s.stacks[e.Key]
	if stack == nil {
		stack = new(big.Int)
		s.stacks[e.Key] = stack
	}
	if stack.Add(stack, change); stack.Cmp(big.NewInt(*e.Quantity)) != 0 {
		return fmt.Errorf("the answer of %s is not what the ledger says: commit %d leaves %d of key %d, and %v must be left", a.url, e.Seq, *e.Quantity, e.Key, stack)
	}
	if change.Sign() == 0 {
		return nil // it was moved within a grid
	}
	s.balance.Add(&s.balance, change)
	if err := s.readCommit(e.Seq); err != nil {
		return err
	}
	if s.c.json() {
		s.json(a.body)
		return nil
	}
	signed := s.of.show(change.String())
	if change.Sign() >= 0 && !s.c.csv() {
		signed = "+" + signed
	}
	s.t.row(strconv.FormatInt(e.Seq, 10), s.c.timeCell(e.At), e.Op, strconv.FormatInt(e.Key, 10), signed, s.shown(), cmp.Or(string(s.commit.Metadata), none))
	return nil
}

// readCommit reads a commit, unless it was the last one that was read, or the
// token may read none: then nothing but its number is known.
func (s *statement) readCommit(seq int64) error {
	if s.commit.GlobalSeq == seq || s.noCommits {
		return nil
	}
	a, err := s.c.askQuietly(request{method: http.MethodGet, base: s.c.readURL, path: "/v1/read/commit/" + strconv.FormatInt(seq, 10)})
	if err != nil {
		return err
	}
	if s.noCommits = a.status == http.StatusForbidden; s.noCommits {
		return nil
	}
	if err := s.c.refusal(a); err != nil {
		return err
	}
	var page struct{ Data commitData }
	err = a.decode(&page)
	s.commit = page.Data
	s.commit.GlobalSeq = seq
	return err
}

// shown is the balance with the class's decimals.
func (s *statement) shown() string { return s.of.show(s.balance.String()) }

// edge shows the balance before or after all changes.
func (s *statement) edge(name string, m *moment) {
	seq, at := none, none
	if m.seq.given {
		seq = m.seq.String()
	} else if m.word != "" {
		at = s.c.timeCell(m.at.Format(time.RFC3339Nano))
	}
	s.t.row(seq, at, name, none, none, s.shown(), none)
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

// json writes an entry with the balance after it, and who made its commit and why.
func (s *statement) json(entry []byte) {
	out := s.c.out
	if s.any && !s.c.ndjson() {
		out.WriteByte(',')
	}
	s.any = true
	s.c.raw(entry[:len(entry)-1])
	fmt.Fprintf(out, `,"balance":%v`, &s.balance)
	if len(s.commit.Metadata) > 0 {
		out.WriteString(`,"metadata":`)
		s.c.raw(s.commit.Metadata)
	}
	if s.commit.Principal != "" {
		out.WriteString(`,"principal":`)
		s.c.raw(ledger.AppendString(nil, s.commit.Principal))
	}
	out.WriteByte('}')
	if s.c.ndjson() {
		out.WriteByte('\n')
	}
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
