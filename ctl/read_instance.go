package ctl

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

var readInstanceCommand = readRow{
	words: "read instance", arg: "INSTANCE", purpose: "show an instance and where it is",
	examples: [2]string{"read instance 17", "read instance 17 -min-seq 12 -o json"},
	path:     "/v1/read/instance/*",
	render:   showInstance,
}.command()

// place describes where an instance is, for people with the container's name.
func (c *call) place(at entry) (string, error) {
	switch {
	case at == nil:
		return "nowhere", nil
	case at["parent_id"] != nil:
		return "attached to instance " + string(at["parent_id"]), nil
	}
	container := string(at["container_id"])
	if !c.csv() {
		name, err := c.containerName(container)
		if err != nil {
			return "", err
		}
		if name != none {
			container = name
		}
	}
	where, err := c.changed(at)
	return "container " + container + " " + where, err
}

// mostNames limits the requests for the names in a long list.
const mostNames = 1000

// containerName returns the name of a container, or "-" if it has none. It also returns
// "-" if the container was removed, if the token may not read it, and after mostNames
// requests.
func (c *call) containerName(id string) (string, error) {
	if name, ok := c.names[id]; ok {
		return name, nil
	}
	if len(c.names) >= mostNames {
		return none, nil
	}
	a, err := c.peek("/v1/read/container/"+url.PathEscape(id), nil)
	var container struct{ Name string }
	if err == nil && a.Status == http.StatusOK {
		err = a.data(&container)
	}
	if err != nil {
		return "", err
	}
	if c.names == nil {
		c.names = map[string]string{}
	}
	c.names[id] = cmp.Or(container.Name, none)
	return c.names[id], nil
}

// showInstance shows an instance with all its children, which it reads page by page.
func showInstance(c *call, a *answer) error {
	e, err := a.item()
	if err != nil {
		return err
	}
	var children []int64
	add := func(a *answer) error {
		var page struct{ Children []int64 }
		err := a.data(&page)
		children = append(children, page.Children...)
		return err
	}
	err = add(a)
	if next := a.nextCursor(); err == nil && next != "" {
		q := url.Values{"limit": {strconv.Itoa(maxListLimit)}, "cursor": {next}}
		_, err = c.pages("/v1/read/instance/"+c.args[0], q, true, c.refusal, add)
	}
	if err != nil {
		return err
	}
	e["children"], _ = json.Marshal(children) // can always be encoded
	return c.showItem(e, "instance_id class_id class key minted_seq location children")
}
