package ctl

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// What belongs to bench. Whatever ids it is given, it moves and removes only what a
// run of it has created: its class has its name, and its containers hold units of
// that class and of no other.

// own finds the containers that an earlier run has created. It rejects ids that are
// used for anything else, before anything is changed.
func (b *bench) own(c *call) (have map[int64]bool, err error) {
	if err := c.catchUp(); err != nil {
		return nil, err
	}
	id := strconv.FormatInt(b.firstID.value, 10)
	a, err := c.peek("/v1/read/class/"+url.PathEscape(id), nil)
	if err != nil {
		return nil, err
	}
	if a.Status == http.StatusNotFound {
		return nil, b.vacant(c)
	}
	if err := a.check(); err != nil {
		return nil, err
	}
	var class classData
	if err := a.data(&class); err != nil {
		return nil, err
	}
	if class.Name != benchClass {
		return nil, exitf(exitRefused, "class %s is there, and is not one of bench: give another -first-id; nothing was done", id)
	}
	have = map[int64]bool{}
	for n := range b.containers.value {
		stacks, there, err := stacksOf(c, b.firstID.value+n)
		if err != nil {
			return nil, err
		}
		if there && !b.owns(stacks) {
			return nil, taken(b.firstID.value + n)
		}
		have[b.firstID.value+n] = there
	}
	return have, nil
}

func taken(id int64) error {
	return exitf(exitRefused, "container %d is there, and bench did not make it: give another -first-id; nothing was done", id)
}

// vacant returns an error if containers exist, by checking whether they could be
// created.
func (b *bench) vacant(c *call) error {
	const perRequest = 5000
	for first := int64(0); first < b.containers.value; first += perRequest {
		var ops []string
		for n := first; n < min(first+perRequest, b.containers.value); n++ {
			ops = append(ops, fmt.Sprintf(`{"op":"CreateContainer","args":{"container_id":%d,"kind":"Standard"}}`, b.firstID.value+n))
		}
		_, err := c.askQuietlyFor("/v1/commit/preflight", []byte(`{"operations":[`+strings.Join(ops, ",")+`]}`))
		if refused, ok := errors.AsType[*apiError](err); ok && refused.Code == "ContainerAlreadyExists" {
			var at struct {
				ID int64 `json:"container_id"`
			}
			json.Unmarshal(refused.Details, &at) // 0 of an answer that doesn't say
			return taken(at.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A benchStack is a stack in a container.
type benchStack struct {
	Class    int64       `json:"class_id"`
	Key      int64       `json:"key"`
	Quantity json.Number `json:"quantity"`
}

// stacksOf reads the contents of a container, and whether it exists.
func stacksOf(c *call, id int64) (stacks []benchStack, there bool, err error) {
	a, err := c.peek(fmt.Sprintf("/v1/read/container/%d/balances", id), nil)
	if err != nil {
		return nil, false, err
	}
	if a.Status == http.StatusNotFound {
		return nil, false, nil
	}
	var page struct{ Balances []benchStack }
	if err = a.check(); err == nil {
		err = a.decode(&page)
	}
	return page.Balances, true, err
}

// owns reports whether a container with these contents belongs to bench.
func (b *bench) owns(stacks []benchStack) bool {
	for _, s := range stacks {
		if s.Class != b.firstID.value {
			return false
		}
	}
	return len(stacks) > 0
}
