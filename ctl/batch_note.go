package ctl

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"

	"assetledger/ctl/client"
	"assetledger/ledger"
)

// These functions check the note of earlier runs before a run of batch -resume sends anything.

// load reads the note of earlier runs, and checks that it belongs to this ledger.
func (m *resumeMark) load(c *call) error {
	if _, err := os.Stat(m.path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	text, err := c.readInput(m.path)
	if err != nil {
		return fmt.Errorf("nothing was sent, because the position of the batch can't be read: %w", err)
	}
	var note resumeNote
	err = json.Unmarshal(text, &note)
	proof := note.Proof
	if err != nil || note.Name == "" || note.Answered < 0 || proof.GlobalSeq != 0 && !ledger.ValidIdempotencyKey(proof.Key) || proof.GlobalSeq == 0 && note.Sum != 0 {
		return fmt.Errorf("nothing was sent, because %s is damaged, or was not written by an earlier run: restore it; if nothing of this batch was committed, remove it", m.path)
	}
	if note.Name != m.note.Name {
		return fmt.Errorf("%s belongs to a batch named %s, but this one is named %s: give -name %s, or remove the file", m.path, note.Name, m.note.Name, note.Name)
	}
	m.earlier, m.note.Sum, m.note.Proof = note, note.Sum, proof
	if proof.GlobalSeq == 0 {
		return nil
	}
	known, err := m.check(c)
	if err != nil {
		advice := ""
		if client.Code(err) == string(ledger.CommitArchived) {
			advice = "; move its segment back until this batch is complete"
		}
		return fmt.Errorf("nothing was sent, because %s can't be checked: %w%s", m.path, err, advice)
	}
	if !known {
		return fmt.Errorf("%s belongs to another ledger, whose commit %d had the key %s: remove it to start over in this one", m.path, proof.GlobalSeq, proof.Key)
	}
	return nil
}

// probe is a transaction that is not a line of any batch, so sending it with the key of a commit is a conflict.
const probe = `{"operations":[{"op":"CreateContainer","args":{"kind":"Standard","name":"batch"}}],"metadata":{"ledgerctl":"Is the key remembered?"},"idempotency_key":%q}`

// check reports whether the ledger has the commit of the note. If the write daemon
// remembers its key, it also remembers those of all later commits. Otherwise the commit
// is read from the read daemon, and open lines can't be recognized.
func (m *resumeMark) check(c *call) (known bool, err error) {
	proof, open := m.earlier.Proof, m.earlier.Open
	var at struct {
		GlobalSeq int64 `json:"global_seq"`
		AtSeq     int64 `json:"at_seq"`
	}
	var refused *apiError
	a, err := c.post("/v1/commit/preflight", fmt.Appendf(nil, probe, proof.Key))
	switch errors.As(err, &refused); {
	case err == nil:
		if err = a.decode(&at); err != nil || at.AtSeq < proof.GlobalSeq {
			return false, err
		}
	case refused == nil || refused.Status >= 500:
		return false, err
	case refused.Code == string(ledger.IdempotencyConflict):
		json.Unmarshal(refused.Details, &at) // a token limited to owners does not get the number
		return at.GlobalSeq == 0 || at.GlobalSeq == proof.GlobalSeq, nil
	}
	if err := c.sameLedger(false); err != nil {
		return false, err
	}
	seq := strconv.FormatInt(proof.GlobalSeq, 10)
	var result client.Result
	if err := c.read("/v1/read/commit/"+seq, url.Values{"min_seq": {seq}}, &result); err != nil {
		return false, err
	}
	known = proof == resumeProof{result.GlobalSeq, keyOf(result.Metadata)}
	if known && open.To > 0 {
		err = fmt.Errorf("an earlier run was cut off and may have committed lines %d to %d, and the ledger no longer remembers the key of commit %d: "+
			"ledgerctl read commits -from %[3]d shows which were committed; send the others with a new file name", open.After+1, open.To, proof.GlobalSeq)
	}
	return known, err
}
