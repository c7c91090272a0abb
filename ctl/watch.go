package ctl

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"assetledger/ctl/client"
	"assetledger/ledger"
	"assetledger/server"
)

var watchCommand = command{
	Words:   "watch",
	Purpose: "follow the commits, one line each, until Ctrl-C",
	Notes: "Without -from or -after it begins with the next commit. It waits for commits without a limit, even with -to and\n" +
		"-count. If the connection is lost, it reconnects for up to -timeout, and shows each commit exactly once. With\n" +
		"-container it shows the commits that change this container, each with its entries in the container's history. In JSON\n" +
		"each commit is an object. With -container, the response with these entries follows as another object.",
	Examples: [2]string{"watch -container 1", "watch -after 0 -count 100 -o ndjson"},
	Setup: func(set *flag.FlagSet) action {
		w := &watch{count: anyID(), container: reference{kind: "CONTAINER"}}
		w.declare(set)
		set.Var(&w.container, "container", "only commits that change this `CONTAINER`, each with what it changed")
		set.Var(&w.count, "count", "end after `N` commits")
		return w.run
	},
}

type watch struct {
	span
	count     number
	container reference

	id   int64 // id of the container; 0 for all commits
	seen int64 // number of commits shown
}

func (w *watch) run(c *call) error {
	err := w.settle()
	ctx := server.SignalContext()
	if err == nil && w.container.value != "" {
		w.id, err = c.containerID(w.container.value)
	}
	after := max(w.from.seq.value-1, 0)
	if err == nil && !w.from.seq.given {
		after, err = c.lastSeq()
	}
	if err != nil || after >= w.to.seq.value {
		return err
	}
	return w.follow(ctx, c, after)
}

// follow shows the commits after `after`, until the last requested one or until ctx is done.
func (w *watch) follow(ctx context.Context, c *call, after int64) error {
	for commit, err := range c.follow(ctx, after, 0) {
		if err == nil {
			err = w.commit(c, commit)
		}
		if err != nil || w.count.given && w.seen >= w.count.value || w.to.seq.given && commit.GlobalSeq >= w.to.seq.value {
			return err
		}
	}
	return nil
}

func (w *watch) commit(c *call, commit client.Commit) error {
	whole := answer{client.Answer{Body: commit.JSON, URL: c.readURL}}
	var d commitData
	if err := whole.decode(&d); err != nil {
		return err
	}
	var changes *answer
	if w.id != 0 {
		var err error
		if changes, err = c.changesBy(&d, w.id); err != nil || changes == nil {
			return err
		}
	}
	w.seen++
	if c.json() {
		c.showRaw(&whole)
		if changes != nil {
			c.showRaw(changes)
		}
		return nil
	}
	line, err := c.commitLine(&d)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.out, line)
	if changes == nil {
		return nil
	}
	return c.showChanges(changes)
}

// commitLine describes a commit on one line: number, time, operations, minted
// instances, idempotency key, and the commit that it reverses.
func (c *call) commitLine(d *commitData) (string, error) {
	if slices.ContainsFunc(d.Operations, operation.gives) {
		c.names, c.classes = nil, nil
	}
	ops, err := c.summary(d.Operations)
	if err != nil {
		return "", err
	}
	at, err := time.Parse(time.RFC3339Nano, d.CommittedAt)
	if err != nil {
		return "", fmt.Errorf("commit %d has the time %q", d.GlobalSeq, d.CommittedAt)
	}
	line := fmt.Sprintf("%6d  %s  %s", d.GlobalSeq, at.UTC().Format("15:04:05.000Z"), ops)
	if len(d.Minted) > 0 {
		line += "  minted " + shorten(joinInts(d.Minted), 30)
	}
	if key := keyOf(d.Metadata); key != "" {
		line += "  key " + key
	}
	if d.Reverses != 0 {
		line += fmt.Sprintf("  reverses %d", d.Reverses)
	}
	line = clean(line)
	if c.screen.width > 0 {
		line = shorten(line, c.screen.width)
	}
	return line, nil
}

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
