package ctl

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"assetledger/ctl/client"
	"assetledger/ledger"
)

// mostHoldings is the maximum number of stacks or slots on one line.
const mostHoldings = 20

func (c *call) containerID(ref string) (int64, error) {
	a, err := c.get(c.readURL, "/v1/read/container/"+url.PathEscape(ref), nil)
	if err != nil {
		return 0, err
	}
	var container struct {
		ID int64 `json:"container_id"`
	}
	if err := a.data(&container); err != nil {
		return 0, err
	}
	if container.ID < 1 {
		return 0, a.lacks("container_id")
	}
	return container.ID, nil
}

// mayTouch reports whether an operation names the container, and may have changed it.
func (d *commitData) mayTouch(container int64) (named, may bool, err error) {
	for _, op := range d.Operations {
		ids, err := op.containers()
		if err != nil {
			return false, false, fmt.Errorf("the arguments of %s in commit %d are none: %v", op.Op, d.GlobalSeq, err)
		}
		if slices.Contains(ids[:], container) {
			return true, true, nil
		}
		switch op.Op {
		case ledger.BurnInstance.String(), ledger.SettleHold.String(), ledger.ReleaseHold.String():
			may = true
		}
	}
	return false, may, nil
}

// containerAt reads a container or its contents after commit seq, or a 404 or 422.
func (c *call) containerAt(container, seq int64, what string) (*answer, error) {
	q := url.Values{"at_seq": {strconv.FormatInt(seq, 10)}}
	if what != "" {
		q.Set("limit", strconv.Itoa(mostHoldings))
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.timeout.Duration)
	defer cancel()
	r := request{Method: http.MethodGet, Base: c.readURL, Path: "/v1/read/container/" + strconv.FormatInt(container, 10) + what, Query: q}
	ask := func() (*client.Answer, error) { return c.api.Do(ctx, r) }
	a, err := received(c.api.Try(ctx, client.MaxTries, c.again("trying again"), ask)) // the history index may be in the making
	if err == nil && a.Status != http.StatusNotFound && a.Status != http.StatusUnprocessableEntity {
		err = a.check()
	}
	return a, err
}

// touched reports whether a commit changed the container and left it there.
func (c *call) touched(d *commitData, container int64) (touched, there bool, err error) {
	named, may, err := d.mayTouch(container)
	if err != nil || !may {
		return false, false, err
	}
	a, err := c.containerAt(container, d.GlobalSeq, "")
	if err == nil && a.Status == http.StatusNotFound {
		return named, false, nil // the commit removed it, if it was there
	}
	if err != nil {
		return false, false, err
	}
	var read struct {
		UpdatedSeq int64 `json:"updated_seq"`
	}
	err = a.data(&read)
	return read.UpdatedSeq == d.GlobalSeq, true, err
}

// showHoldings shows the balances of a container after commit seq, or its slots.
func (c *call) showHoldings(container, seq int64, there bool) error {
	a, err := c.containerAt(container, seq, "/balances")
	if err == nil && a.Status == http.StatusUnprocessableEntity {
		a, err = c.containerAt(container, seq, "/slots")
	}
	if err != nil {
		return err
	}
	if c.json() {
		c.showRaw(a)
		return nil
	}
	if !there {
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
	fmt.Fprintf(c.out, "        holds %s\n", clean(strings.Join(held, ", ")))
	return nil
}

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
