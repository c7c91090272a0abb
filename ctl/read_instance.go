package ctl

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

var readInstanceCommand = command{
	Words:    "read instance",
	Args:     "INSTANCE",
	Purpose:  "show an instance and where it is",
	Examples: [2]string{"read instance 17", "read instance 17 -min-seq 12 -o json"},
	Setup: func(set *flag.FlagSet) action {
		return itemAction(set, "INSTANCE", "/v1/read/instance/*", false, showInstance)
	},
}

type location struct {
	ContainerID int64  `json:"container_id"`
	SlotIndex   *int64 `json:"slot_index"`
	X, Y        int64
	Rotation    int64
	ParentID    *int64 `json:"parent_id"`
}

// place says where an instance is. To people it names the container.
func (c *call) place(l *location) (string, error) {
	switch {
	case l == nil:
		return "nowhere", nil
	case l.ParentID != nil:
		return fmt.Sprintf("attached to instance %d", *l.ParentID), nil
	}
	container := strconv.FormatInt(l.ContainerID, 10)
	if !c.csv() {
		name, err := c.containerName(container)
		if err != nil {
			return "", err
		}
		if name != none {
			container = name
		}
	}
	if l.SlotIndex != nil {
		return fmt.Sprintf("container %s slot %d", container, *l.SlotIndex), nil
	}
	return fmt.Sprintf("container %s cell %d,%d rotation %d", container, l.X, l.Y, l.Rotation), nil
}

// mostNames is how many containers a run asks the name of: a long list takes no
// more requests than that.
const mostNames = 1000

// containerName reads the name of a container, "-" if it has none. That of one
// which is removed or out of reach, or beyond mostNames, stays unknown.
func (c *call) containerName(id string) (string, error) {
	if name, ok := c.names[id]; ok {
		return name, nil
	}
	if len(c.names) >= mostNames {
		return none, nil
	}
	a, err := c.askQuietly(request{method: http.MethodGet, base: c.readURL, path: "/v1/read/container/" + url.PathEscape(id)})
	if err != nil {
		return "", err
	}
	var page struct{ Data struct{ Name string } }
	if a.status == http.StatusOK {
		if err := a.decode(&page); err != nil {
			return "", err
		}
	}
	if c.names == nil {
		c.names = map[string]string{}
	}
	c.names[id] = cmp.Or(page.Data.Name, none)
	return c.names[id], nil
}

// showInstance shows an instance with all of its children, which come in pages.
func showInstance(c *call, a *answer) error {
	t := c.newTable()
	var children []int64
	q := url.Values{"limit": {strconv.Itoa(maxListLimit)}}
	for first := true; ; first = false {
		var page struct{ Data entry }
		if err := a.decode(&page); err != nil {
			return err
		}
		if first {
			if err := c.addItem(t, page.Data, "instance_id class_id class key minted_seq location"); err != nil {
				return err
			}
		}
		var more []int64
		if list := page.Data["children"]; list != nil && json.Unmarshal(list, &more) != nil || !first && len(more) == 0 {
			return fmt.Errorf("the answer of %s is not what the ledger says: its children are none", a.url)
		}
		children = append(children, more...)
		next := a.nextCursor()
		if next == "" {
			break
		}
		if next == q.Get("cursor") {
			return endlessList(a)
		}
		q.Set("cursor", next)
		var err error
		if a, err = c.get(c.readURL, "/v1/read/instance/"+c.args[0], q); err != nil {
			return err
		}
	}
	t.row("children", joinInts(children))
	t.flush()
	return nil
}
