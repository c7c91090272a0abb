package ctl

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"assetledger/ctl/client"
)

const operationArgs = "[FILE|OPERATION]…"

var commitCommand = command{
	Words:   "commit",
	Args:    operationArgs,
	Purpose: "submit a transaction: all of its operations, or none",
	Notes: "An operation is its name, then argument=value for each argument. Separate several operations with +. FILE, or -\n" +
		"for standard input, is the transaction as JSON; a file name without a dot or slash needs -f.\n\n" +
		"It returns when the commit is on stable storage. With a key, it retries until -timeout after a lost\n" +
		"connection or a response of 500 or more. Without a key, nothing is sent twice.",
	Examples: [2]string{
		"commit -key order-17 TransferFungible from_container=users/42 to_container=shop class_id=EUR key=0 quantity=2550",
		"commit transaction.json -o json",
	},
	Setup: setup((*txFlags).commit),
}

func (t *txFlags) commit(c *call) error {
	body, err := t.body(c)
	if err != nil {
		return err
	}
	return c.commitAt("/v1/commit", body, t.key)
}

func (c *call) commitAt(path string, body []byte, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	keyed := key != "" || hasKey(body)
	a, err := c.submit(request{Method: http.MethodPost, Base: c.writeURL, Path: path, Body: body, Key: key}, keyed)
	if err != nil {
		return err
	}
	var result commitResult
	if err := a.decode(&result); err != nil || result.GlobalSeq < 1 {
		return mayBeCommitted(fmt.Errorf("the response of %s is not a commit result", a.URL), keyed)
	}
	result.Replayed = a.Header.Get("X-Asset-Idempotency") == "hit"
	signal.Ignore(syscall.SIGPIPE) // report the outcome even if nobody reads standard output any more
	if c.json() {
		c.showRaw(a)
	} else {
		if strings.HasSuffix(path, "/reverse") {
			c.made = c.operationsOf(result.GlobalSeq)
		}
		result.show(c)
	}
	if err := c.out.Flush(); err != nil {
		return exitf(exitFailure, "the transaction was committed: its global_seq is %d; the result could not be written: %v", result.GlobalSeq, err)
	}
	return nil
}

type commitResult struct {
	client.Result
	Class entry `json:"class"` // set for a registration of a class
}

func (r *commitResult) show(c *call) {
	t := c.newTable()
	c.addMade(t)
	t.row("global_seq", r.GlobalSeq)
	t.row("batch_seq", r.BatchSeq)
	if code := r.Class["code"]; code != nil {
		t.row("class_id", string(r.Class["class_id"]))
	}
	if len(r.Minted) > 0 {
		t.row("minted_instances", joinInts(r.Minted))
	}
	key, metadata, err := partMetadata(r.Metadata)
	var name string
	if err != nil || key != nil && json.Unmarshal(key, &name) != nil {
		name, metadata = "", r.Metadata
	}
	if name != "" {
		t.row("idempotency_key", name)
	}
	if metadata != nil {
		t.row("metadata", string(metadata))
	}
	if r.Replayed {
		t.row("replayed", replayed)
	}
	t.flush()
}

const replayed = "yes: this key was committed before"

func (c *call) addMade(t *table) {
	for _, words := range c.made {
		t.row("operation", words)
	}
}

// operationsOf returns a commit's operations in words, or nil if they can't be read.
func (c *call) operationsOf(seq int64) (list []string) {
	n := strconv.FormatInt(seq, 10)
	var d commitData
	if c.read("/v1/read/commit/"+n, url.Values{"min_seq": {n}}, &d) != nil {
		return nil
	}
	list, _ = c.wordsOfAll(d.Operations)
	return list
}

func (c *call) wordsOfAll(operations []operation) ([]string, error) {
	list := make([]string, len(operations))
	for i := range operations {
		var err error
		if list[i], err = c.wordsOf(&operations[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// joinInts returns the integers, separated by spaces, or "-" if there are none.
func joinInts(values []int64) string {
	return cmp.Or(strings.Trim(fmt.Sprint(values), "[]"), none)
}

// submit sends a commit. With an idempotency key, in the header or in the body, it
// retries until the timeout if there is no response or its status is 500 or more. The
// key ensures that the commit takes effect once. Without a key it sends the request
// only once, because a request without a response may have taken effect.
func (c *call) submit(r request, keyed bool) (*answer, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.timeout.Duration)
	defer cancel()
	tries := 1
	if keyed {
		tries = client.MaxTries
	}
	sent, unknown, err := c.api.Submit(ctx, r, tries, c.again(sameKey))
	a, err := received(sent, err)
	if err != nil && unknown {
		err = mayBeCommitted(err, keyed)
	}
	if err != nil {
		return nil, err
	}
	err = c.refusal(a)
	var refused *apiError
	if errors.As(err, &refused) && (a.Status == 500 || refused.Code == "" && (a.Status < 400 || a.Status > 500)) {
		err = mayBeCommitted(err, keyed) // a defect, or a proxy that may have forwarded the request
	}
	return a, err
}

const sameKey = "retrying with the same key"

func (c *call) again(saying string) func(why error) {
	return func(why error) { c.say("%v; %s", inWords(why), saying) }
}

func mayBeCommitted(err error, keyed bool) error {
	if keyed {
		return exitf(exitSilent, "%v; it is unknown whether it was committed: run the command again with the same key", err)
	}
	return exitf(exitSilent, "%v; it is unknown whether it was committed: "+
		"look with ledgerctl read commits; next time use -key, so that you can safely repeat the command", err)
}

var reverseCommand = command{
	Words:   "reverse",
	Args:    "GLOBAL_SEQ",
	Purpose: "reverse a commit by a new commit with the inverse operations",
	Notes: "GLOBAL_SEQ is the number of the commit: see its result, or statement, history and read commits.\n" +
		"It is rejected if the commit can no longer be undone, such as a payment that was spent. A settled\n" +
		"hold can't be reversed either: transfer the amount back. It shows the operations of the new commit, if there is a read\n" +
		"daemon.",
	Examples: [2]string{"reverse 17 -dry-run", "reverse 17 -key undo-17 -metadata '{\"why\":\"paid twice\"}'"},
	Setup: func(set *flag.FlagSet) action {
		var tx txFlags
		dryRun := declareDryRun(set)
		set.StringVar(&tx.metadata, "metadata", "", "`JSON` object to store with the commit")
		declareKey(set, &tx.key)
		return func(c *call) error {
			seq, err := c.ref(0, "GLOBAL_SEQ")
			if err != nil {
				return err
			}
			body, err := tx.appendMetadata([]byte("{"), "")
			if err != nil {
				return err
			}
			body = append(body, '}')
			path := "/v1/commit/" + seq + "/reverse"
			if *dryRun {
				return c.preflight(path+"/preflight", body, tx.key)
			}
			return c.commitAt(path, body, tx.key)
		}
	},
}
