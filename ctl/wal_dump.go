package ctl

import (
	"errors"
	"flag"
	"fmt"

	"assetledger/ledger"
	"assetledger/server/reader"
	"assetledger/wal"
)

var walDumpCommand = command{
	Words:   "wal dump",
	Args:    "[DIR]",
	Purpose: "write a log's commits, one JSON object a line",
	Notes: "A line is what /v1/read/commit/{global_seq} gives as data. Without -from it begins with the first commit that\n" +
		"was not archived.",
	Examples: [2]string{"wal dump data", "wal dump data -from 100 -to 199 | jq .operations"},
	Setup: func(set *flag.FlagSet) action {
		d := &dump{}
		d.log.declare(set)
		d.declare(set, true)
		return d.run
	},
}

type dump struct {
	log logFlags
	span
	record ledger.Record
	line   []byte
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
	from, to := uint64(1), r.Durable()
	if d.from.seq.given {
		from = max(1, uint64(d.from.seq.value))
	}
	if d.to.seq.given {
		to = min(to, uint64(d.to.seq.value))
	}
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
	for done := uint64(0); done < to; {
		f, err := r.Next()
		if err != nil {
			return err
		}
		err = f.Each(func(seq uint64, record []byte) error {
			if seq < from || seq > to {
				return nil
			}
			return d.write(c, f, seq, record)
		})
		if err != nil {
			return err
		}
		done = f.Last()
	}
	return nil
}

func (d *dump) write(c *call, f *wal.Frame, seq uint64, record []byte) error {
	if err := d.record.Decode(record); errors.Is(err, ledger.ErrNewer) {
		return fmt.Errorf("commit %d: %w", seq, err)
	} else if err != nil {
		return exitf(exitDamaged, "the record of commit %d cannot be read: %v; ledgerctl wal verify says where it is", seq, err)
	}
	d.line = reader.AppendCommit(d.line[:0], f, seq, &d.record)
	c.raw(append(d.line, '\n'))
	_, err := c.out.Write(nil) // the error of an earlier write, if there was one
	return err
}
