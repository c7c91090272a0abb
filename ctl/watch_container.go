package ctl

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"assetledger/ledger"
)

// mostHoldings is how many stacks or slots stand on one line.
const mostHoldings = 20

// containerID reads the id of a container that is there.
func (c *call) containerID(ref string) (int64, error) {
	a, err := c.get(c.readURL, "/v1/read/container/"+url.PathEscape(ref), nil)
	if err != nil {
		return 0, err
	}
	var page struct {
		Data struct {
			ID int64 `json:"container_id"`
		}
	}
	if err := a.decode(&page); err != nil {
		return 0, err
	}
	if page.Data.ID < 1 {
		return 0, fmt.Errorf("the answer of %s is not what the ledger says: it has no container_id", a.url)
	}
	return page.Data.ID, nil
}

// touches says whether a commit changed or named a container. An operation
// names the containers that it changes, except for BurnInstance, SettleHold and
// ReleaseHold: then the container's own updated_seq tells, unless its kind has
// nothing of that sort. If it has gone on since, the answer is yes: a change too
// many does less harm than one too few.
func (c *call) touches(d *commitData, container int64) (bool, error) {
	unnamed := map[string]bool{} // kinds that have something of which an operation doesn't name the container
	for _, op := range d.Operations {
		var args struct {
			Container int64 `json:"container_id"`
			From      int64 `json:"from_container"`
			To        int64 `json:"to_container"`
			Other     int64 `json:"other_container_id"`
		}
		if len(op.Args) > 0 {
			if err := json.Unmarshal(op.Args, &args); err != nil {
				return false, fmt.Errorf("the arguments of %s in commit %d are none: %v", op.Op, d.GlobalSeq, err)
			}
		}
		if args.Container == container || args.From == container || args.To == container || args.Other == container {
			return true, nil
		}
		switch op.Op {
		case ledger.BurnInstance.String():
			unnamed[ledger.Slots.String()], unnamed[ledger.Grid.String()] = true, true
		case ledger.SettleHold.String(), ledger.ReleaseHold.String():
			unnamed[ledger.Standard.String()], unnamed[ledger.Grid.String()] = true, true
		}
	}
	if len(unnamed) == 0 {
		return false, nil
	}
	a, err := c.getAt(container, "", d.GlobalSeq)
	if err != nil || a.status == http.StatusNotFound {
		return false, err
	}
	var page struct {
		Data struct {
			Kind       string
			UpdatedSeq int64 `json:"updated_seq"`
		}
	}
	err = a.decode(&page)
	return unnamed[page.Data.Kind] && page.Data.UpdatedSeq >= d.GlobalSeq, err
}

// getAt reads a container, or what is in it, when commit seq can be read.
// Refusals that a container can meet (404, 422) are answers too.
func (c *call) getAt(container int64, what string, seq int64) (*answer, error) {
	q := url.Values{"min_seq": {strconv.FormatInt(seq, 10)}}
	if what != "" {
		q.Set("limit", strconv.Itoa(mostHoldings))
	}
	a, err := c.askQuietly(request{method: http.MethodGet, base: c.readURL, path: "/v1/read/container/" + strconv.FormatInt(container, 10) + what, query: q})
	if err == nil && a.status != http.StatusNotFound && a.status != http.StatusUnprocessableEntity {
		err = a.check()
	}
	return a, err
}

// showHoldings shows what a container holds now, at commit seq or later, and
// which commit that is of: its balances, or the instances in its slots.
func (c *call) showHoldings(container, seq int64) error {
	a, err := c.getAt(container, "/balances", seq)
	if err == nil && a.status == http.StatusUnprocessableEntity {
		a, err = c.getAt(container, "/slots", seq)
	}
	if err != nil {
		return err
	}
	if c.json() {
		c.showRaw(a)
		return nil
	}
	if a.status == http.StatusNotFound {
		fmt.Fprintf(c.out, "        container %d is gone\n", container)
		return nil
	}
	held, err := c.holdings(a)
	if err != nil {
		return err
	}
	if a.nextCursor() != "" {
		held = append(held, "and more")
	}
	if len(held) == 0 {
		held = []string{"nothing"}
	}
	page, err := decodeFreshness(a)
	if err != nil {
		return err
	}
	at := page.Freshness.CheckpointSeq
	fmt.Fprintf(c.out, "        at commit %d holds %s\n", at, clean(strings.Join(held, ", ")))
	return nil
}

// holdings are the stacks, or slots, of a page in words.
func (c *call) holdings(a *answer) ([]string, error) {
	var page struct {
		Balances []struct {
			ClassID  int64 `json:"class_id"`
			Key      int64
			Quantity json.Number
			Held     json.Number
		}
		Data struct{ Slots []slotData }
	}
	if err := a.decode(&page); err != nil {
		return nil, err
	}
	var held []string
	for _, b := range page.Balances {
		class, err := c.classByID(b.ClassID)
		if err != nil {
			return nil, err
		}
		what := fmt.Sprintf("%s %s (class %d key %d)", class.show(b.Quantity.String()), class.label(), b.ClassID, b.Key)
		if b.Held != "" {
			what += " of which " + class.show(b.Held.String()) + " held"
		}
		held = append(held, what)
	}
	for _, s := range page.Data.Slots {
		class, err := c.classByID(s.ClassID)
		if err != nil {
			return nil, err
		}
		held = append(held, fmt.Sprintf("%s %d in slot %d", class.Name, s.InstanceID, s.SlotIndex))
	}
	return held, nil
}

// mayBeLater says whether err is a read that was too early, or not answered.
func mayBeLater(err error) bool {
	var silent *noAnswer
	return errors.As(err, &silent) || exitCode(err) == exitSilent
}
