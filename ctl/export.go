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
	"assetledger/server/reader"
	"assetledger/wal"
)

var exportCommand = command{
	Words:   "export",
	Purpose: "write the ledger's commits as NDJSON, as input for batch",
	Notes: "Each line is the transaction of one commit, in order, with its key, its metadata and the commit that\n" +
		"it reverses. Registrations are operations, too. To get an equal ledger, import all lines into an empty one with\n" +
		"batch -on-error stop: ledgerctl wal verify shows equal digests. If the log has holds that expire, import into a\n" +
		"ledger-write -expire=false, because their releases are commits, too. The export ends with the commit that was\n" +
		"the last one when it started. Without -from or -after it begins with the first commit that is not archived.",
	Examples: [2]string{"export > ledger.ndjson", "export -after 1000 -o ndjson | jq -c '.operations[]'"},
	Setup:    setup((*export).run),
}

type export struct{ span }

func (e *export) run(c *call) error {
	if err := e.settle(); err != nil {
		return err
	}
	last, err := c.lastSeq()
	if err != nil {
		return err
	}
	last = min(last, e.to.seq.value)
	first, err := e.begin(c)
	if err != nil || last <= first {
		return err
	}
	shown := newProgress(c.words)
	defer shown.clear()
	var line bytes.Buffer
	out := json.NewEncoder(&line)
	out.SetEscapeHTML(false)
	for commit, err := range c.follow(server.SignalContext(), first, c.timeout.Duration) {
		if err != nil {
			return err
		}
		line.Reset()
		if err := writeTransaction(out, commit.JSON); err != nil {
			return fmt.Errorf("commit %d cannot be exported: %w", commit.GlobalSeq, err)
		}
		c.raw(line.Bytes())
		shown.say("commit %d of %d, %s left", commit.GlobalSeq, last, left(time.Since(shown.begin), commit.GlobalSeq-first, last-first))
		if commit.GlobalSeq >= last {
			return nil
		}
	}
	return exitf(exitFailure, "stopped before commit %d: the output is incomplete", last)
}

// begin returns the commit to begin after: the one before -from, the last archived one, or 0.
func (e *export) begin(c *call) (int64, error) {
	if e.from.seq.given {
		return max(e.from.seq.value-1, 0), nil
	}
	a, err := c.peek("/v1/read/commits", url.Values{"limit": {"1"}})
	if err != nil {
		return 0, err
	}
	var details struct {
		First int64 `json:"first_seq"`
	}
	refused := a.Refused()
	if refused.Code != string(ledger.CommitArchived) || json.Unmarshal(refused.Details, &details) != nil || details.First < 1 {
		return 0, c.refusal(a)
	}
	c.say("the log begins at commit %d; those before it were archived, so this is not the whole ledger", details.First)
	return details.First - 1, nil
}

// writeTransaction writes the transaction of a commit, without the fields that the ledger
// determines again on import.
func writeTransaction(out *json.Encoder, commit []byte) (err error) {
	var made struct {
		Operations json.RawMessage `json:"operations"`
		Key        json.RawMessage `json:"idempotency_key,omitempty"`
		Metadata   json.RawMessage `json:"metadata,omitempty"`
		Reverses   json.RawMessage `json:"reverses,omitempty"`
	}
	if err := json.Unmarshal(commit, &made); err != nil {
		return err
	}
	if len(made.Operations) == 0 {
		return errors.New("it has no operations")
	}
	if made.Key, made.Metadata, err = partMetadata(made.Metadata); err != nil {
		return fmt.Errorf("its metadata cannot be read: %w", err)
	}
	return out.Encode(&made)
}

// partMetadata splits the metadata of a commit into the idempotency key and the metadata
// that was sent. Both are JSON, or nil if absent. Values keep their spelling.
func partMetadata(object []byte) (key, rest []byte, err error) {
	err = eachField(object, func(name string, value json.RawMessage) error {
		if name == "idempotency_key" {
			key = value
			return nil
		}
		rest = fmt.Appendf(rest, ",%s:%s", ledger.AppendString(nil, name), value)
		return nil
	})
	if rest != nil {
		rest[0] = '{'
		rest = append(rest, '}')
	}
	return key, rest, err
}

var walDumpCommand = command{
	Words:   "wal dump",
	Args:    "[DIR]",
	Purpose: "write a log's commits, one JSON object per line",
	Notes: "A line is the data of /v1/read/commit/{global_seq}. Without -from or -after, the command begins\n" +
		"with the first commit that is not archived.",
	Examples: [2]string{"wal dump data", "wal dump data -from 100 -to 199 | jq .operations"},
	Setup: func(set *flag.FlagSet) action {
		d := &dump{}
		d.log.declare(set)
		d.declare(set)
		return d.run
	},
}

type dump struct {
	log logFlags
	span
}

func (d *dump) run(c *call) error {
	if err := d.settle(); err != nil {
		return err
	}
	r, err := wal.OpenReader(d.log.dir, wal.Options{})
	if err != nil {
		return d.log.explain(err)
	}
	defer r.Close()
	from, to := uint64(max(1, d.from.seq.value)), min(r.Durable(), uint64(d.to.seq.value))
	if from > to {
		return nil
	}
	err = r.Seek(from)
	if gone := new(wal.ArchivedError); errors.As(err, &gone) && !d.from.seq.given {
		c.say("the log begins at commit %d; those before it were archived", gone.First)
		from = gone.First
		err = r.Seek(from)
	}
	if err != nil {
		return err
	}
	var record ledger.Record
	var line []byte
	for done := uint64(0); done < to && err == nil; {
		f, failed := r.Next()
		if failed != nil {
			return failed
		}
		done = f.Last()
		err = f.Each(func(seq uint64, text []byte) error {
			if seq < from || seq > to {
				return nil
			}
			if err := record.Decode(text); errors.Is(err, ledger.ErrNewer) {
				return fmt.Errorf("commit %d: %w", seq, err)
			} else if err != nil {
				return exitf(exitDamaged, "the record of commit %d cannot be read: %v; ledgerctl wal verify says where it is", seq, err)
			}
			line = append(reader.AppendCommit(line[:0], f, seq, &record), '\n')
			c.raw(line)
			_, err := c.out.Write(nil) // returns the error of an earlier write, if any
			return err
		})
	}
	return err
}
