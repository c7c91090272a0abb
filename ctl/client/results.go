package client

import (
	"bytes"
	"encoding/json"
	"errors"
)

// A Result is a commit result.
type Result struct {
	GlobalSeq int64           `json:"global_seq"`
	BatchSeq  int64           `json:"batch_seq"`
	Minted    []int64         `json:"minted_instances"`
	Metadata  json.RawMessage `json:"metadata"`
	Replayed  bool            `json:"replayed"` // the idempotency key was used before, and this is its first result
}

// A Verdict is the result of one transaction of a stream or batch.
type Verdict struct {
	Result
	Err *Refused `json:"error"` // nil if the transaction was committed
}

// ParseVerdict parses a result of a stream or batch. v may refer to the bytes of raw. For commits that mint nothing,
// as most do, it is several times faster than encoding/json.
func ParseVerdict(raw []byte, v *Verdict) error {
	if plainResult(raw, &v.Result) {
		v.Err = nil
		return nil
	}
	*v = Verdict{}
	if err := json.Unmarshal(raw, v); err != nil {
		return err
	}
	if v.Err == nil && v.GlobalSeq < 1 {
		return errors.New("it is neither a commit result nor an error")
	}
	return nil
}

// plainResult parses a result with the fields and spacing that the ledger writes, if nothing was minted. It returns false
// for any other.
func plainResult(raw []byte, r *Result) bool {
	at := raw
	number := func(before string) (n int64, ok bool) {
		if at, ok = bytes.CutPrefix(at, []byte(before)); !ok {
			return 0, false
		}
		digits := 0
		for ; digits < min(len(at), 18) && '0' <= at[digits] && at[digits] <= '9'; digits++ {
			n = 10*n + int64(at[digits]-'0')
		}
		at = at[digits:]
		return n, digits > 0 && n > 0
	}
	var ok bool
	if r.GlobalSeq, ok = number(`{"global_seq":`); !ok {
		return false
	}
	if r.BatchSeq, ok = number(`,"batch_seq":`); !ok {
		return false
	}
	if at, ok = bytes.CutPrefix(at, []byte(`,"minted_instances":[],"metadata":`)); !ok {
		return false
	}
	if at, r.Replayed = bytes.CutSuffix(at, []byte(`,"replayed":true}`)); !r.Replayed {
		if at, ok = bytes.CutSuffix(at, []byte{'}'}); !ok {
			return false
		}
	}
	r.Minted, r.Metadata = nil, at
	return string(at) == "{}" || json.Valid(at)
}
