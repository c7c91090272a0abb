package ctl

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"assetledger/ctl/client"
)

// Resuming. A line's idempotency key is "batch:" NAME ":" LINE, so the same line of
// the same file is the same request in every run. The key does not contain the
// line's text: a line that was changed after it was committed is rejected
// (IdempotencyConflict), not committed a second time.
//
// The ledger remembers a limited number of idempotency keys. It would be unsafe to
// send a file with more lines than that again from its first line. So a run that is
// far beyond the lines for which it needs the keys writes its position to
// NAME.resume, and the next run skips lines more than resumeWindow before that.

const (
	resumeWindow = 500_000 // lines whose keys are taken to be remembered: half of the ledger's default
	resumeStep   = 100_000 // lines between two notes
)

// A resumeMark is the position of the runs over a file. A nil one does nothing.
type resumeMark struct {
	path         string
	window, step int
	done         int // lines up to this one are not sent again
	saved        int // line of the note on disk
	note         resumeNote
}

// resumeNote is the content of the file.
type resumeNote struct {
	Name     string       `json:"name"`
	Answered int          `json:"answered"` // every line up to this one
	Proof    *resumeProof `json:"proof"`
}

func (b *batch) prepareResume(c *call) error {
	switch {
	case !b.resume && b.name != "":
		return usagef("-name goes with -resume")
	case !b.resume:
		return nil
	case b.file == "-" && b.name == "":
		return usagef("-resume of standard input needs a name for this work: give it with -name")
	}
	name, path := filepath.Base(b.file), b.file+".resume"
	if b.file == "-" {
		path = keyName(b.name) + ".resume"
	}
	if b.name != "" {
		name = b.name
	}
	b.mark = &resumeMark{path: path, window: resumeWindow, step: resumeStep, note: resumeNote{Name: keyName(name)}}
	return b.mark.load(c)
}

// keyName returns name as keys have it: a hash if it is too long or not plain.
func keyName(name string) string {
	plain := len(name) <= 100 && strings.IndexFunc(name, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '"' || r == '\\' || r == '/'
	}) < 0
	if plain {
		return name
	}
	return fmt.Sprintf("sha256-%x", sha256.Sum256([]byte(name)))[:32]
}

func (m *resumeMark) appendKey(text []byte, line int) []byte {
	return fmt.Appendf(text[:len(text)-1], `,"idempotency_key":"batch:%s:%d"}`, m.note.Name, line)
}

func (m *resumeMark) isDone(line int) bool { return m != nil && line <= m.done }

// A resumeProof is a commit with its key, which no other ledger has.
type resumeProof struct {
	GlobalSeq int64  `json:"global_seq"`
	Key       string `json:"key"`
}

// proofOf returns the proof that a result provides.
func proofOf(r *client.Result) *resumeProof {
	key := keyOf(r.Metadata)
	if key == "" {
		return nil
	}
	return &resumeProof{r.GlobalSeq, key}
}

// keyOf returns the idempotency key in the metadata of a commit, "" if there is none.
func keyOf(metadata []byte) string {
	var fields struct {
		Key string `json:"idempotency_key"`
	}
	json.Unmarshal(metadata, &fields) // "" of anything else
	return fields.Key
}

// answered records that every line up to this one has a result.
func (m *resumeMark) answered(line int, last *client.Result) {
	if m == nil {
		return
	}
	m.note.Answered = line
	if proof := proofOf(last); proof != nil {
		m.note.Proof = proof
	}
}

// save writes the position, if it is needed and has advanced enough.
func (m *resumeMark) save(c *call, atEnd bool) error {
	if m == nil || m.note.Proof == nil || m.note.Answered <= m.window || m.note.Answered == m.saved || !atEnd && m.note.Answered < m.saved+m.step {
		return nil
	}
	text, err := json.Marshal(m.note)
	if err == nil {
		err = client.ReplaceFile(m.path, text)
	}
	if err != nil {
		return fmt.Errorf("cannot note how far the batch has come: %w; make room, and run it again", err)
	}
	m.saved = m.note.Answered
	return nil
}

// load reads the position of an earlier run, and checks its proof against the ledger.
func (m *resumeMark) load(c *call) error {
	text, err := os.ReadFile(m.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot see how far the batch had come: %w", err)
	}
	var note resumeNote
	if err := json.Unmarshal(text, &note); err != nil || note.Proof == nil || note.Answered < 1 {
		return fmt.Errorf("%s is no note of an earlier run: remove it, if nothing of this batch was committed", m.path)
	}
	if note.Name != m.note.Name {
		return fmt.Errorf("%s is of a batch named %s, and this is %s: give -name %s, or remove it", m.path, note.Name, m.note.Name, note.Name)
	}
	if known, err := c.knows(note.Proof); err != nil {
		return err
	} else if !known {
		return fmt.Errorf("%s is of another ledger, whose commit %d had the key %s: remove it to begin anew in this one",
			m.path, note.Proof.GlobalSeq, note.Proof.Key)
	}
	m.note, m.saved, m.done = note, note.Answered, max(note.Answered-m.window, 0)
	return nil
}

func (c *call) knows(proof *resumeProof) (bool, error) {
	seq := strconv.FormatInt(proof.GlobalSeq, 10)
	a, err := c.peek("/v1/read/commit/"+seq, url.Values{"min_seq": {seq}})
	if err != nil {
		return false, err
	}
	var refused *apiError
	if errors.As(a.check(), &refused) {
		var at seqs
		if refused.Status == http.StatusTooEarly && json.Unmarshal(refused.Details, &at) == nil && at.CommitLogSeq < proof.GlobalSeq {
			return false, nil // the ledger is not that long
		}
		return false, refused
	}
	var result client.Result
	if err := a.data(&result); err != nil {
		return false, err
	}
	found := proofOf(&result)
	return found != nil && *found == *proof, nil
}
