package ctl

import (
	"flag"
	"strconv"
	"time"

	"assetledger/ledger"
	"assetledger/wal"
)

var walDumpCommand = command{
	Words:    "wal dump",
	Purpose:  "write a log's commits, one JSON object a line",
	Notes:    "A line is what /v1/read/commit/{global_seq} gives as data.",
	Examples: [2]string{"wal dump -dir data", "wal dump -dir data -from 100 -to 199 | jq .operations"},
	Setup: func(set *flag.FlagSet) action {
		d := &dump{from: anyID(), to: anyID()}
		d.log.declare(set)
		set.Var(&d.from, "from", "first commit `SEQ`")
		set.Var(&d.to, "to", "last commit `SEQ`")
		return d.run
	},
}

type dump struct {
	log      logFlags
	from, to number
	record   ledger.Record
	line     []byte
}

func (d *dump) run(c *call) error {
	r, err := d.log.open()
	if err != nil {
		return err
	}
	defer r.Close()
	from, to := uint64(1), r.Durable()
	if d.from.given {
		from = uint64(d.from.value)
	}
	if d.to.given {
		to = min(to, uint64(d.to.value))
	}
	if from > to {
		return nil
	}
	if from > 1 {
		if err := r.Seek(from); err != nil {
			return err
		}
	}
	return eachFrame(r, to, func(f *wal.Frame) error {
		return f.Each(func(seq uint64, record []byte) error {
			if seq < from || seq > to {
				return nil
			}
			return d.write(c, f, seq, record)
		})
	})
}

func (d *dump) write(c *call, f *wal.Frame, seq uint64, record []byte) error {
	if err := d.record.Decode(record); err != nil {
		return &wal.CorruptError{Seq: seq - 1, Rule: "record", Err: err}
	}
	d.line = appendCommit(d.line[:0], f, seq, &d.record)
	_, err := c.out.Write(append(d.line, '\n'))
	return err
}

// appendCommit appends a commit as the interface shows it.
func appendCommit(b []byte, f *wal.Frame, seq uint64, rec *ledger.Record) []byte {
	b = strconv.AppendUint(append(b, `{"global_seq":`...), seq, 10)
	b = strconv.AppendUint(append(b, `,"batch_seq":`...), seq-f.First+1, 10)
	b = append(b, `,"committed_at":"`...)
	b = time.Unix(0, f.Time).UTC().AppendFormat(b, "2006-01-02T15:04:05.000000000Z")
	b = ledger.AppendOperations(append(b, `","operations":`...), rec.Tx.Ops)
	b = append(b, `,"minted_instances":[`...)
	for i := range rec.Out.Minted {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, rec.Out.FirstMinted+int64(i), 10)
	}
	b = ledger.AppendMetadata(append(b, `],"metadata":`...), rec.Tx.Metadata, rec.Tx.Key)
	return append(b, '}')
}
