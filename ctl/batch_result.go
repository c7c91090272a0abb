package ctl

import (
	"encoding/json"
	"fmt"
	"strconv"

	"assetledger/ctl/client"
	"assetledger/ledger"
)

// show shows the results of a batch request.
func (b *batch) show(c *call, a *answer) error {
	var answer struct{ Results []json.RawMessage }
	if err := a.decode(&answer); err != nil {
		return b.unclear(err)
	}
	b.bar.clear()
	for i, raw := range answer.Results {
		var r client.Verdict
		if err := client.ParseVerdict(raw, &r); err != nil {
			return b.unclear(fmt.Errorf("result %d of %s is none: %.200s", i, a.URL, raw))
		}
		b.add(c, i+1, &r, raw)
	}
	if c.json() && !c.ndjson() {
		c.showRaw(a)
	}
	if !c.json() {
		b.table.flush()
	}
	return nil
}

// add counts one result, and shows it.
func (b *batch) add(c *call, n int, r *client.Verdict, raw []byte) {
	b.last = n
	if c.ndjson() {
		b.text = append(append(b.text[:0], `{"`...), b.column...)
		b.text = strconv.AppendInt(append(b.text, `":`...), int64(n), 10)
		b.text = append(append(append(b.text, ','), raw[1:]...), '\n')
		c.raw(b.text)
	}
	switch {
	case r.Err == nil && r.Replayed:
		b.replayed++
		fallthrough
	case r.Err == nil:
		b.committed++
	case r.Err.Code == string(ledger.NotAttempted):
		b.untried++
	default:
		b.refused++
	}
	if !c.json() {
		b.row(c, n, r)
	}
}

// row adds a result to the table.
func (b *batch) row(c *call, n int, r *client.Verdict) {
	if r.Err != nil {
		c.toPeople(r.Err)
		b.table.row(n, "-", "-", "-", r.Err.Error())
		return
	}
	result := "committed"
	if r.Replayed {
		result = "replayed"
	}
	b.table.row(n, r.GlobalSeq, r.BatchSeq, joinInts(r.Minted), result)
}
