package ctl

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"assetledger/ctl/client"
)

// What belongs to bench. Whatever ids it is given, it moves and removes only what a
// run of it has created: its class has its name, and its containers hold units of
// that class and of no other.

// own finds the containers of an earlier run, and rejects ids of anything else.
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

// vacant returns an error if a container could not be created.
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

func (b *bench) owns(stacks []benchStack) bool {
	for _, s := range stacks {
		if s.Class != b.firstID.value {
			return false
		}
	}
	return len(stacks) > 0
}

const (
	benchKey   = "ledgerctl-bench-class-" // begins the idempotency key of its class
	benchClass = "ledgerctl bench"
)

// ask asks whether to load a ledger whose first commit is not one of bench.
func (b *bench) ask(c *call) error {
	if b.yes {
		return nil
	}
	commits, err := c.commits()
	if err != nil {
		return err
	}
	if commits == 0 || b.began(c) {
		return nil
	}
	if in, isFile := c.in.(*os.File); !isFile || !isTerminal(in) || !isTerminal(c.words) {
		return usagef("the ledger has %s that bench did not make, and what it does stays: give -yes to load it all the same", count(int(commits), "commit"))
	}
	fmt.Fprintf(c.words, "The ledger has %s. What bench commits stays in it for good. Go on? [y/N] ", count(int(commits), "commit"))
	answer, _ := bufio.NewReader(c.in).ReadString('\n')
	if word := strings.ToLower(strings.TrimSpace(answer)); word != "y" && word != "yes" {
		return exitf(exitFailure, "nothing was done")
	}
	return nil
}

func (c *call) commits() (int64, error) {
	a, err := c.askQuietly(request{Method: http.MethodGet, Base: c.writeURL, Path: "/v1/health"})
	if err != nil {
		return 0, err
	}
	var health healthData
	if err := a.decode(&health); err != nil || health.CommitLog == nil {
		return 0, err
	}
	return health.CommitLog.EndSeq, nil
}

// catchUp waits until every commit is visible to reads.
func (c *call) catchUp() error {
	commits, err := c.commits()
	if err != nil || commits == 0 {
		return err
	}
	return c.awaitRead(commits)
}

// began reports whether the ledger's first commit is the class of a run of bench.
func (b *bench) began(c *call) bool {
	var first client.Result
	if c.read("/v1/read/commit/1", url.Values{"min_seq": {"1"}}, &first) != nil {
		return false
	}
	proof := proofOf(&first)
	return proof != nil && strings.HasPrefix(proof.Key, benchKey)
}

// remove removes the containers with their contents. The class can't be removed.
func (b *bench) remove(c *call) error {
	if err := c.catchUp(); err != nil {
		return err
	}
	var failed error // read when all are removed, or it has ended that
	_, err := c.commitAll("removed", func(yield func(string) bool) {
		for n := range b.containers.value {
			var tx string
			if tx, failed = b.removal(c, b.firstID.value+n); failed != nil || tx != "" && !yield(tx) {
				return
			}
		}
	})
	if err := cmp.Or(err, failed); err != nil {
		return err
	}
	err = c.catchUp() // so that whoever looks next finds them gone
	c.say("the containers are removed; class %d stays", b.firstID.value)
	return err
}

// removal returns the transaction that removes a container of bench, "" for others.
func (b *bench) removal(c *call, id int64) (string, error) {
	stacks, there, err := stacksOf(c, id)
	if err != nil || !there || !b.owns(stacks) {
		return "", err
	}
	var tx strings.Builder
	tx.WriteString(`{"operations":[`)
	for _, s := range stacks {
		fmt.Fprintf(&tx, `{"op":"RemoveFungible","args":{"container_id":%d,"class_id":%d,"key":%d,"quantity":%s}},`, id, s.Class, s.Key, s.Quantity)
	}
	fmt.Fprintf(&tx, `{"op":"RemoveContainer","args":{"container_id":%d}}]}`, id)
	return tx.String(), nil
}
