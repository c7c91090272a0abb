package ctl

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"assetledger/ctl/client"
	"assetledger/ledger"
)

func (c *call) containerID(ref string) (int64, error) {
	var container struct {
		ID int64 `json:"container_id"`
	}
	path := "/v1/read/container/" + url.PathEscape(ref)
	err := c.readFresh(path, &container)
	if err == nil && container.ID < 1 {
		err = notALedgers(c.readURL+path, "it has no container_id")
	}
	return container.ID, err
}

// elsewhere are the operations that may change a container without naming it.
var elsewhere = []string{ledger.BurnInstance.String(), ledger.SettleHold.String(), ledger.ReleaseHold.String()}

// mayTouch reports whether an operation may change the container.
func (d *commitData) mayTouch(container int64) (bool, error) {
	for _, op := range d.Operations {
		ids, err := op.containers()
		if err != nil {
			return false, fmt.Errorf("the arguments of %s in commit %d are invalid: %v", op.Op, d.GlobalSeq, err)
		}
		if slices.Contains(ids[:], container) || slices.Contains(elsewhere, op.Op) {
			return true, nil
		}
	}
	return false, nil
}

// changesBy returns the entries of one commit in the container's history, or nil if the
// commit did not change the container.
func (c *call) changesBy(d *commitData, container int64) (*answer, error) {
	if may, err := d.mayTouch(container); err != nil || !may {
		return nil, err
	}
	seq := strconv.FormatInt(d.GlobalSeq, 10)
	r := request{Method: http.MethodGet, Base: c.readURL, Path: "/v1/read/container/" + strconv.FormatInt(container, 10) + "/history",
		Query: url.Values{"from_seq": {seq}, "to_seq": {seq}, "order": {"oldest"}, "limit": {strconv.Itoa(maxListLimit)}}}
	a, _, err := c.insist(r, client.MaxTries, "retrying") // until the history index is complete
	if err == nil {
		err = a.check()
	}
	if err != nil {
		return nil, err
	}
	if list, err := a.entries(); len(list) == 0 {
		return nil, err
	}
	return a, nil
}

// showChanges shows the entries of a history, one per line.
func (c *call) showChanges(a *answer) error {
	t := c.listTable("change class key quantity what")
	if err := c.addEntries(t, a); err != nil {
		return err
	}
	for _, cell := range t.rows {
		thing := strings.TrimPrefix(cell[0]+" "+cell[1], none+" ")
		if key := cell[2]; key != none && key != "0" {
			thing += " key " + key
		}
		words := []string{strings.TrimSuffix(thing, " "+none)}
		if cell[3] != none {
			words = append(words, "now "+cell[3])
		}
		if cell[4] != none {
			words = append(words, cell[4])
		}
		fmt.Fprintf(c.out, "        %s\n", strings.Join(words, ", "))
	}
	return nil
}
