// Command drive makes requests through ctl/client, for these tests:
//
//	drive WRITE READ CURSOR N                                    TestClients
//	drive outcomes URL NAME SECONDS NAME SECONDS…                TestClientsOutcomes
//	drive cuts URL STEP NAME BYTES NAME BYTES…                   TestClientsCutAnswers
//	drive streams STANDBY URL CURSOR NAME SECONDS NAME SECONDS…  TestClientsStreams
//	drive stream WRITE                                           TestProveHandover; one idempotency key per line on standard input
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log"
	"math"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"assetledger/ctl/client"
)

var ctx = context.Background()

func transfer(i int) []client.Operation {
	quantity := 1 + i%5
	if i%20 == 0 {
		quantity = 1e9
	}
	return []client.Operation{client.Op("TransferFungible", client.Args{
		"from_container": fmt.Sprintf("acct/%d", i%10), "to_container": fmt.Sprintf("acct/%d", (i*7+1)%10),
		"class_id": "GOLD", "key": 0, "quantity": quantity})}
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// told prints the outcome of a transaction.
func told(key string, r client.Result, err error) {
	var refused *client.Refused
	if !errors.As(err, &refused) {
		fmt.Println("ack", key, must(r, err).GlobalSeq)
		return
	}
	var details struct{ Requested json.Number }
	must(0, json.Unmarshal(refused.Details, &details))
	fmt.Println("refused", key, refused.Code, details.Requested)
}

func main() {
	log.SetFlags(0)
	switch os.Args[1] {
	case "outcomes":
		outcomes(os.Args[2], os.Args[3:])
		return
	case "cuts":
		cuts(os.Args[2], must(strconv.Atoi(os.Args[3])), os.Args[4:])
		return
	case "streams":
		streams(os.Args[2], os.Args[3], os.Args[4], os.Args[5:])
		return
	case "stream":
		stream(os.Args[2])
		return
	}
	o := client.Options{Write: os.Args[1], Read: os.Args[2], Timeout: 5 * time.Second}
	n := must(strconv.Atoi(os.Args[4]))
	c := client.New(o)
	defer c.Close()
	gold := client.Op("RegisterClass", client.Args{"request": client.Args{"name": "Gold", "code": "GOLD"}})
	must(c.Commit(ctx, client.Tx{Key: "setup", Operations: []client.Operation{gold}}))
	for i := range 10 {
		name := fmt.Sprintf("acct/%d", i)
		must(c.Commit(ctx, client.Tx{Key: fmt.Sprintf("open-%d", i), Operations: []client.Operation{
			client.Op("CreateContainer", client.Args{"kind": "Standard", "name": name}),
			client.Op("AddFungible", client.Args{"container_id": name, "class_id": "GOLD", "key": 0, "quantity": 100_000})}}))
	}
	single := func(i int) {
		key := fmt.Sprintf("single-%d", i)
		r, err := c.Commit(ctx, client.Tx{Key: key, Operations: transfer(i)})
		told(key, r, err)
	}
	for i := range n {
		single(i)
	}
	single(1)
	single(n/2 + 1)
	_, err := c.Commit(ctx, client.Tx{Operations: []client.Operation{client.Op("RemoveContainer", client.Args{"container_id": "nobody"})}})
	var refused *client.Refused
	if !errors.As(err, &refused) {
		log.Fatal("not refused: ", err)
	}
	fmt.Println("typed", refused.Code, *refused.OperationIndex)
	for out, err := range c.CommitAll(ctx, many(n), 200) {
		must(0, err)
		if err = nil; out.Err != nil {
			err = out.Err
		}
		told(out.Tx.Key, out.Result, err)
	}
	big(c)
	feed(o, os.Args[3], c.LastSeq())
}

func many(n int) iter.Seq[client.Tx] {
	return func(yield func(client.Tx) bool) {
		for i := range 4 * n {
			if !yield(client.Tx{Key: fmt.Sprintf("many-%d", i), Operations: transfer(i)}) {
				return
			}
		}
	}
}

// big sends the largest integers in a commit, and reads them back.
func big(c *client.Client) {
	r := must(c.Commit(ctx, client.Tx{Key: "exact", Metadata: map[string]any{"n": math.MaxInt64}, Operations: []client.Operation{
		client.Op("AddFungible", client.Args{"container_id": "acct/0", "class_id": "GOLD", "key": math.MaxInt64, "quantity": math.MaxInt64 - 10_000_000})}}))
	var metadata struct{ N int64 }
	must(0, json.Unmarshal(r.Metadata, &metadata))
	fmt.Println("exact", metadata.N)
	type stack struct{ Key, Quantity int64 }
	for s, err := range client.Items[stack](ctx, c, "/v1/read/container/acct%2F0/balances", url.Values{"limit": {"1"}}) { // the read sees all commits made above
		fmt.Println("stack", must(s, err).Key, s.Quantity)
	}
}

// feed follows the feed in two parts, each with a client of its own.
func feed(o client.Options, cursor string, last int64) {
	for _, stop := range []int64{last / 2, last} {
		for commit, err := range client.New(o).Feed(ctx, client.FeedOptions{Cursor: client.FileCursor(cursor)}) {
			fmt.Println("saw", must(commit, err).GlobalSeq)
			if commit.GlobalSeq >= stop {
				break
			}
		}
	}
}

// outcomes sends a commit, a preflight and a read for each name, and prints the outcomes. Then it follows the feed to its end.
func outcomes(base string, names []string) {
	for ; len(names) > 1; names = names[2:] {
		name, giveUp := names[0], must(strconv.ParseFloat(names[1], 64))
		c := client.New(client.Options{Write: base, Read: base, GiveUp: time.Duration(giveUp * float64(time.Second))})
		_, err := c.Commit(ctx, client.Tx{Key: name, Operations: transfer(1)})
		fmt.Println("commit", name, outcome(err))
		fmt.Println("preflight", name, outcome(c.Preflight(ctx, client.Op("ReleaseHold", client.Args{"hold_id": name}))))
		var v any
		fmt.Println("read", name, outcome(c.Read(ctx, "/v1/read/class/"+name, nil, &v)))
		c.Close()
	}
	for commit, err := range client.New(client.Options{Read: base}).Feed(ctx, client.FeedOptions{}) {
		if err != nil {
			fmt.Println("feed", outcome(err))
			break
		}
		fmt.Println("feed", commit.GlobalSeq)
	}
}

func outcome(err error) string {
	var refused *client.Refused
	switch {
	case err == nil:
		return "done"
	case errors.As(err, new(*client.OutcomeUnknown)):
		return "unknown"
	case errors.As(err, new(*client.Unavailable)):
		return "unavailable"
	case errors.As(err, &refused):
		return strings.TrimSpace("refused " + refused.Code)
	}
	return err.Error()
}

// cuts makes requests for each case. Their responses are cut at every step-th byte, up to the whole size. cuts prints
// the outcomes.
func cuts(base string, step int, cases []string) {
	var places []string
	for ; len(cases) > 1; cases = cases[2:] {
		size := must(strconv.Atoi(cases[1]))
		for at := size % step; at <= size; at += step {
			places = append(places, fmt.Sprint(cases[0], "-", at))
		}
	}
	told, next := make([]string, len(places)), make(chan int)
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for i := range next {
				told[i] = places[i] + " " + cut(base, places[i])
			}
		})
	}
	for i := range places {
		next <- i
	}
	close(next)
	all.Wait()
	fmt.Println(strings.Join(told, "\n"))
}

// cut makes the request of one case, with the place as the token.
func cut(base, place string) (told string) {
	c := client.New(client.Options{Write: base, Read: base, Token: place})
	defer c.Close()
	switch kind, _, _ := strings.Cut(place, "-"); kind {
	case "read":
		var v struct{ Quantity int }
		err := c.Read(ctx, "/v1/read/stack", nil, &v)
		return fmt.Sprint(outcome(err), " ", v.Quantity)
	case "stream":
		return two(c)
	case "feed":
		return upToThree(c, client.FeedOptions{})
	}
	r, err := c.Commit(ctx, client.Tx{Key: place, Operations: transfer(1)})
	return fmt.Sprint(outcome(err), " ", r.GlobalSeq)
}

// two sends two transactions over a stream, and returns their outcomes.
func two(c *client.Client) string {
	var told []string
	txs := []client.Tx{{Key: "1", Operations: transfer(1)}, {Key: "2", Operations: transfer(2)}}
	for out, err := range c.CommitAll(ctx, slices.Values(txs), 0) {
		var unknown *client.OutcomeUnknown
		switch {
		case errors.As(err, &unknown):
			told = append(told, "unknown", unknown.Key)
		case err != nil:
			told = append(told, outcome(err))
		case out.Err != nil:
			told = append(told, out.Tx.Key+"="+out.Err.Code)
		default:
			told = append(told, fmt.Sprint(out.Tx.Key, "=", out.GlobalSeq))
		}
	}
	return strings.Join(told, " ")
}

// upToThree follows a feed up to commit 3, and returns what it received.
func upToThree(c *client.Client, o client.FeedOptions) string {
	var told []string
	for commit, err := range c.Feed(ctx, o) {
		if errors.As(err, new(*fs.PathError)) {
			return strings.Join(append(told, "failed"), " ")
		}
		if err != nil {
			return strings.Join(append(told, outcome(err)), " ")
		}
		if told = append(told, fmt.Sprint(commit.GlobalSeq)); commit.GlobalSeq >= 3 {
			break
		}
	}
	return strings.Join(told, " ")
}

// streams plays the cases of TestClientsStreams, with their names as tokens.
func streams(standby, base, cursor string, cases []string) {
	for ; len(cases) > 1; cases = cases[2:] {
		name, giveUp := cases[0], must(strconv.ParseFloat(cases[1], 64))
		o := client.Options{Write: base, Read: base, Token: name, GiveUp: time.Duration(giveUp * float64(time.Second))}
		told := ""
		switch name {
		case "elsewhere":
			o.Write = standby + "," + base
			told = eight(client.New(o))
		case "feed-after":
			told = upToThree(client.New(o), client.FeedOptions{After: 1})
		case "feed-position":
			told = upToThree(client.New(o), client.FeedOptions{Cursor: client.FileCursor(cursor)})
		case "feed-waits":
			go upToThree(client.New(o), client.FeedOptions{})
			told = "waits"
		case "feed-sign-in", "feed-stopping":
			told = upToThree(client.New(o), client.FeedOptions{})
		default:
			told = two(client.New(o))
		}
		fmt.Println(name, told)
	}
}

// eight sends eight transactions at the same time, and returns how many were committed.
func eight(c *client.Client) string {
	var all sync.WaitGroup
	var done atomic.Int64
	for i := range 8 {
		all.Go(func() {
			if _, err := c.Commit(ctx, client.Tx{Operations: transfer(i)}); err == nil {
				done.Add(1)
			}
		})
	}
	all.Wait()
	return fmt.Sprint(done.Load(), " done")
}

// stream commits a transaction for each idempotency key on standard input, and prints the outcomes.
func stream(write string) {
	add := []client.Operation{client.Op("AddFungible", client.Args{"container_id": 1, "class_id": 1, "key": 0, "quantity": 1})}
	keys := func(yield func(client.Tx) bool) {
		for in := bufio.NewScanner(os.Stdin); in.Scan() && yield(client.Tx{Key: in.Text(), Operations: add}); {
		}
	}
	for out, err := range client.New(client.Options{Write: write}).CommitAll(ctx, keys, 0) {
		must(0, err)
		if out.Err != nil {
			log.Fatal(out.Tx.Key, " was refused: ", out.Err)
		}
		told(out.Tx.Key, out.Result, nil)
	}
}
