package ctl

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"time"

	"assetledger/ledger"
	"assetledger/server"
)

var exportCommand = command{
	Words:   "export",
	Purpose: "write the ledger's commits as NDJSON, as batch takes them",
	Notes: "Each line is the transaction of one commit, in their order, with its key, its metadata and the commit that\n" +
		"it reverses; registrations are operations too. Importing all of them into an empty ledger, with batch\n" +
		"-on-error stop, gives an equal ledger: ledgerctl wal verify shows equal digests. If the log has holds that\n" +
		"expire, import into a ledger-write -expire=false: their releases are commits of the log too. The export ends\n" +
		"with what was the last commit at the start. Without -after it begins with the first that was not archived.",
	Examples: [2]string{"export > ledger.ndjson", "export -after 1000 -o ndjson | jq -c '.operations[]'"},
	Setup: func(set *flag.FlagSet) action {
		e := &export{after: anyKey(), to: anyID()}
		set.Var(&e.after, "after", "only commits after this `SEQ`")
		set.Var(&e.to, "to", "last commit `SEQ`")
		return e.run
	},
}

type export struct{ after, to number }

func (e *export) run(c *call) error {
	last, err := c.lastSeq()
	if err != nil {
		return err
	}
	if e.to.given {
		last = min(last, e.to.value)
	}
	first, err := e.begin(c)
	if err != nil || last <= first {
		return err
	}
	shown := newProgress(c.words)
	begin := time.Now()
	ctx := server.SignalContext()
	var line []byte
	err = c.follow(ctx, first, last, func(seq int64, commit []byte) error {
		if line, err = appendTransaction(line[:0], commit); err != nil {
			return fmt.Errorf("commit %d cannot be exported: %w", seq, err)
		}
		c.raw(append(line, '\n'))
		shown.say("commit %d of %d, %s left", seq, last, remaining(begin, seq-first, last-first))
		if seq >= last {
			return errEnough
		}
		return nil
	})
	shown.clear()
	switch {
	case errors.Is(err, errEnough):
		return nil
	case err == nil:
		return exitf(exitFailure, "stopped before commit %d: what was written is not the whole", last)
	}
	return err
}

// begin is the commit to begin after: the one asked for, or the last one that
// was archived.
func (e *export) begin(c *call) (int64, error) {
	if e.after.given {
		return e.after.value, nil
	}
	_, err := c.get(c.readURL, "/v1/read/commits", url.Values{"limit": {"1"}})
	var refused *apiError
	if !errors.As(err, &refused) || refused.Code != "CommitArchived" {
		return 0, err
	}
	var details struct {
		First int64 `json:"first_seq"`
	}
	if err := json.Unmarshal(refused.Details, &details); err != nil || details.First < 1 {
		return 0, refused
	}
	c.say("the log begins at commit %d; those before it were archived, so this is not the whole ledger", details.First)
	return details.First - 1, nil
}

// remaining is the time left when n of all took from begin until now.
func remaining(begin time.Time, n, all int64) time.Duration {
	return time.Duration(float64(time.Since(begin)) * float64(all-n) / float64(n)).Round(time.Second)
}

// appendTransaction appends the transaction that a commit was made of. What
// the ledger decided is left out: it decides the same again.
func appendTransaction(dst, commit []byte) ([]byte, error) {
	var made struct {
		Operations json.RawMessage
		Metadata   json.RawMessage
		Reverses   json.RawMessage
	}
	if err := json.Unmarshal(commit, &made); err != nil {
		return nil, err
	}
	if len(made.Operations) == 0 {
		return nil, errors.New("it has no operations")
	}
	dst = append(append(dst, `{"operations":`...), made.Operations...)
	key, metadata, err := partMetadata(made.Metadata)
	if err != nil {
		return nil, fmt.Errorf("its metadata cannot be read: %w", err)
	}
	if key != nil {
		dst = append(append(dst, `,"idempotency_key":`...), key...)
	}
	if metadata != nil {
		dst = append(append(dst, `,"metadata":`...), metadata...)
	}
	if made.Reverses != nil {
		dst = append(append(dst, `,"reverses":`...), made.Reverses...)
	}
	return append(dst, '}'), nil
}

// partMetadata parts the metadata of a commit into the idempotency key and
// what was sent as metadata, both as JSON and nil for none. Values stay as they
// are spelled.
func partMetadata(object []byte) (key, rest []byte, err error) {
	if len(object) == 0 {
		return nil, nil, nil
	}
	in := json.NewDecoder(bytes.NewReader(object))
	if _, err := in.Token(); err != nil { // the opening brace
		return nil, nil, err
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return nil, nil, err
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return nil, nil, err
		}
		field, _ := name.(string)
		if field == "idempotency_key" {
			key = value
			continue
		}
		opening := byte(',')
		if rest == nil {
			opening = '{'
		}
		rest = append(ledger.AppendString(append(rest, opening), field), ':')
		rest = append(rest, value...)
	}
	if rest != nil {
		rest = append(rest, '}')
	}
	return key, rest, nil
}
