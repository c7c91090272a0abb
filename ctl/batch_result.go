package ctl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"assetledger/ledger"
)

// batchResult is a commit result or an error.
type batchResult struct {
	commitResult
	Error *apiErrorBody `json:"error"`
}

// parseResult reads a result, which r may refer to. That of a commit which minted
// nothing, as most are, takes a fraction of what encoding/json takes.
func parseResult(raw []byte, r *batchResult) error {
	if plainResult(raw, r) {
		return nil
	}
	*r = batchResult{}
	if err := json.Unmarshal(raw, r); err != nil {
		return err
	}
	if r.Error == nil && r.GlobalSeq == 0 {
		return errors.New("neither a commit nor an error")
	}
	return nil
}

// plainResult reads a result that is spelled as the ledger spells it; false if
// it is another.
func plainResult(raw []byte, r *batchResult) bool {
	at := raw
	number := func(before string) (n int64, ok bool) {
		if at, ok = bytes.CutPrefix(at, []byte(before)); !ok {
			return 0, false
		}
		digits := 0
		for ; digits < min(len(at), 18) && '0' <= at[digits] && at[digits] <= '9'; digits++ {
			n = 10*n + int64(at[digits]-'0')
		}
		at = at[digits:]
		return n, digits > 0 && n > 0
	}
	var ok bool
	if r.GlobalSeq, ok = number(`{"global_seq":`); !ok {
		return false
	}
	if r.BatchSeq, ok = number(`,"batch_seq":`); !ok {
		return false
	}
	if at, ok = bytes.CutPrefix(at, []byte(`,"minted_instances":[],"metadata":`)); !ok {
		return false
	}
	if at, r.Replayed = bytes.CutSuffix(at, []byte(`,"replayed":true}`)); !r.Replayed {
		if at, ok = bytes.CutSuffix(at, []byte{'}'}); !ok {
			return false
		}
	}
	r.Metadata = at
	return len(at) == 2 && string(at) == "{}" || json.Valid(at)
}

// show shows the results of a batch request.
func (b *batch) show(c *call, a *answer) error {
	var answer struct{ Results []json.RawMessage }
	if err := a.decode(&answer); err != nil {
		return b.unclear(err)
	}
	b.bar.clear()
	for i, raw := range answer.Results {
		var r batchResult
		if err := parseResult(raw, &r); err != nil {
			return b.unclear(fmt.Errorf("result %d of %s is none: %.200s", i, a.url, raw))
		}
		b.last = i + 1
		b.add(c, b.last, &r, raw)
	}
	if c.json() && !c.ndjson() {
		c.showRaw(a)
	}
	if !c.json() {
		b.table.flush()
	}
	return c.out.Flush()
}

// add counts one result, and shows it.
func (b *batch) add(c *call, n int, r *batchResult, raw []byte) {
	if r.Error != nil && r.Error.Code == string(ledger.NotAttempted) {
		b.untried++
	} else {
		b.answered++
	}
	if c.ndjson() {
		b.text = append(append(b.text[:0], `{"`...), b.column...)
		b.text = strconv.AppendInt(append(b.text, `":`...), int64(n), 10)
		b.text = append(append(append(b.text, ','), raw[1:]...), '\n')
		c.raw(b.text)
	}
	switch {
	case r.Error != nil:
		if r.Error.Code != string(ledger.NotAttempted) {
			b.refused++
		}
	case r.Replayed:
		b.committed++
		b.replayed++
	default:
		b.committed++
	}
	if !c.json() {
		b.row(n, r)
	}
}

// row adds a result to the table.
func (b *batch) row(n int, r *batchResult) {
	number := strconv.Itoa(n)
	if r.Error != nil {
		b.table.row(number, "-", "-", "-", r.Error.String())
		return
	}
	result := "committed"
	if r.Replayed {
		result = "replayed"
	}
	b.table.row(number, strconv.FormatInt(r.GlobalSeq, 10), strconv.FormatInt(r.BatchSeq, 10), joinInts(r.Minted), result)
}
