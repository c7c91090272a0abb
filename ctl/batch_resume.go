package ctl

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"assetledger/ctl/client"
	"assetledger/ledger"
)

// How a batch resumes. The idempotency key of a line that has none of its own is "batch:"
// NAME ":" LINE, so the same line of the same file has the same key in every run. The key
// does not depend on the line's text: a line that was changed after it was committed is
// rejected (IdempotencyConflict) instead of being committed a second time.
//
// Keys alone are not enough: a line that moves gets another key, and the ledger
// remembers only its newest keys. So a run keeps a note of its position in FILE.resume
// (for standard input NAME.resume), with checksums of the lines that are committed and of
// those that may be. No line of a regular file is sent before a note covers it. The next
// run verifies both checksums in a first pass over the file, and then sends the lines that
// are not known to be committed. The ledger must remember the keys of at most
// 2*resumeStep of these (more if many lines failed), because a run never sends more lines
// than that before it notes their results.

const resumeStep = 400 // the position is saved after about this many lines; see step

// A resumeMark keeps the position of the runs over a file. The methods isDone, reached,
// send, result and end of a nil *resumeMark do nothing. The goroutine that sends lines also
// saves the position. Once that goroutine has ended, end saves the position for the last
// time.
type resumeMark struct {
	file    string     // as given
	path    string     // of the note
	earlier resumeNote // saved by earlier runs
	covers  bool       // each line is covered by a note before it is sent; not for lines from a pipe
	seen    uint64     // hash of the skipped lines
	checked bool       // seen was compared with earlier.Sum

	mu      sync.Mutex // guards the fields below
	changed *sync.Cond // there was a result, or nothing more is to be sent
	note    resumeNote
	open    openLines
	at      int    // line of the last result
	flying  int    // number of lines without a result
	since   int    // number of results since the position was saved
	saved   bool   // this run has saved the position
	ended   bool   // the position must not be saved any more; nothing more may be sent
	seq     int64  // global_seq of the last commit
	text    []byte // line of that commit
}

// A resumeNote is the content of FILE.resume or NAME.resume.
type resumeNote struct {
	Name     string      `json:"name"`
	Answered int         `json:"answered"`       // all lines up to this one have a result
	Failed   [][2]int    `json:"failed"`         // the lines among them that are not committed, as ranges from first to last
	Sum      uint64      `json:"sum"`            // hash of the committed ones, to detect changes
	Proof    resumeProof `json:"proof,omitzero"` // a commit before those of all open lines; zero: no line is known to be committed
	Open     openLines   `json:"open,omitzero"`
}

// openLines are lines that may have been committed: the lines of a range, except those
// that the note counts as committed. There are none after a run that got the results of all
// lines that it sent.
type openLines struct {
	After int    `json:"after"`
	To    int    `json:"to"`
	Sum   uint64 `json:"sum"` // their hash
}

func (b *batch) prepareResume(c *call) error {
	switch {
	case !b.resume && b.name != "":
		return usagef("-name needs -resume")
	case !b.resume:
		return nil
	case b.file == "-" && b.name == "":
		return usagef("-resume with standard input needs -name, a name for this work")
	}
	name, path := cmp.Or(b.name, filepath.Base(b.file)), b.file+".resume"
	if b.file == "-" {
		path = keyName(b.name) + ".resume"
	}
	m := &resumeMark{file: b.file, path: path, note: resumeNote{Name: keyName(name)}}
	m.changed = sync.NewCond(&m.mu)
	context.AfterFunc(b.stopping, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.changed.Broadcast()
	})
	b.mark = m
	return m.load(c)
}

// keyName returns the form that a name has in keys. It is a hash if the name is longer than
// 100 bytes, or has a space, a quotation mark, a slash, a backslash or a character that is
// not printable ASCII.
func keyName(name string) string {
	odd := func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' || r == '/' }
	if len(name) <= 100 && !strings.ContainsFunc(name, odd) {
		return name
	}
	return fmt.Sprintf("sha256-%x", sha256.Sum256([]byte(name)))[:32]
}

// isDone reports whether an earlier run committed a line.
func (m *resumeMark) isDone(line int) bool {
	if m == nil || line > m.earlier.Answered {
		return false
	}
	left := rangesFrom(m.earlier.Failed, line)
	return len(left) == 0 || line < left[0][0]
}

// rangesFrom returns the ranges that do not end before the given line.
func rangesFrom(ranges [][2]int, line int) [][2]int {
	i, _ := slices.BinarySearchFunc(ranges, line, func(r [2]int, line int) int { return cmp.Compare(r[1], line) })
	return ranges[i:]
}

func lineSum(number int, text []byte) uint64 {
	return uint64(number) * uint64(crc32.Checksum(text, castagnoli))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// verify reads the lines that earlier runs sent, and returns an error if one that was, or
// may have been, committed has changed. Then it goes back to the beginning of the input.
func (b *batch) verify() (err error) {
	m := b.mark
	if m == nil || b.again == nil {
		return nil
	}
	open := m.earlier.Open
	m.covers, m.open.To = true, max(m.earlier.Answered, open.To)
	if m.open.To == 0 {
		return nil
	}
	var line, text []byte
	var tx ledger.Transaction
	for line, err = b.in.next(); err == nil && b.in.number <= m.open.To; line, err = b.in.next() {
		if len(line) == 0 {
			continue
		}
		_, l := b.line(text[:0], line, b.in.number, &tx)
		if m.isDone(l.Number) {
			continue
		}
		sum := lineSum(l.Number, l.Text)
		m.open.Sum += sum
		if l.Number > open.After && l.Number <= open.To {
			open.Sum -= sum
		}
	}
	if err == nil || err == io.EOF {
		err = m.reached(math.MaxInt)
	}
	if err != nil {
		return b.halted(err)
	}
	if open.Sum != 0 {
		return b.halted(usagef("%s of %s may have been committed by a run that was cut off, and differ from what it sent: "+
			"restore them and run the batch again, before you correct what it rejects", lineRange(open.After+1, open.To), b.file))
	}
	m.seen, m.checked = 0, false // the method lines hashes and compares the skipped lines again
	b.in = newLineReader(b.again, b.in.most)
	_, err = b.again.Seek(b.start, io.SeekStart)
	return err
}

// reached must be called before each line is sent. At the first line after those of the
// earlier runs, it returns an error if the lines that they committed have changed.
func (m *resumeMark) reached(line int) error {
	if m == nil || m.checked || line <= m.earlier.Answered {
		return nil
	}
	m.checked = true
	if n := m.earlier.Answered; m.seen != m.earlier.Sum {
		return usagef("lines 1 to %d of %s differ from those that earlier runs committed: correct a rejected line in its place, or replace it with an empty line; "+
			"don't edit committed lines, and don't insert or delete lines before line %d; use a new file name or -name for new work", n, m.file, n+1)
	}
	return nil
}

// A resumeProof is a commit with its key. It identifies the ledger: no other ledger has that
// key at that commit.
type resumeProof struct {
	GlobalSeq int64  `json:"global_seq"`
	Key       string `json:"key"`
}

// send must be called before lines are sent. It waits while too many are without a
// result, and saves the position when that is due. New lines are not sent before the open
// lines of earlier runs have results. If send returns an error, the lines must not be sent.
func (m *resumeMark) send(stopping context.Context, lines []client.Line) error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	after := m.earlier.Open.To
	for stopping.Err() == nil && (m.flying > m.step() || m.flying > 0 && lines[0].Number > after && m.at <= after) {
		m.changed.Wait()
	}
	if m.ended || stopping.Err() != nil {
		return cmp.Or(context.Cause(stopping), context.Canceled)
	}
	n := 0
	for _, l := range lines {
		if m.isDone(l.Number) {
			continue
		}
		if n++; l.Number > m.open.To { // verify has added the lines up to m.open.To
			m.open.To = l.Number
			m.open.Sum += lineSum(l.Number, l.Text)
		}
	}
	if n > 0 && (m.covers || !m.saved || m.since+m.flying >= m.step()) {
		if err := m.save(false); err != nil {
			return err
		}
	}
	m.flying += n
	return nil
}

// step returns the number of lines after which the position is saved. It grows with the
// size of a note.
func (m *resumeMark) step() int { return max(resumeStep, len(m.note.Failed)/8) }

// full reports whether no more lines are to be sent together with these.
func (m *resumeMark) full(lines []client.Line) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(lines) >= m.step() || lines[len(lines)-1].Number == m.earlier.Open.To
}

// result records the result of a line.
func (m *resumeMark) result(r *client.Answered) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = r.Number
	if m.isDone(r.Number) {
		return
	}
	m.since++
	m.flying--
	m.changed.Signal()
	sum := lineSum(r.Number, r.Text)
	m.open.Sum -= sum
	if r.Err == nil {
		m.note.Sum += sum
		m.seq, m.text = r.GlobalSeq, r.Text
		if open := m.earlier.Open; r.Replayed && r.Number > open.After && r.Number <= open.To {
			m.note.Proof = resumeProof{m.seq, keyOf(m.text)}
		}
		return
	}
	failed := m.note.Failed
	if n := len(failed); n > 0 && failed[n-1][1] == r.Number-1 {
		failed[n-1][1] = r.Number
		return
	}
	m.note.Failed = append(failed, [2]int{r.Number, r.Number})
}

// end saves the position for the last time. If doubt is true, lines that were sent have no
// result.
func (m *resumeMark) end(doubt bool) error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended || !m.saved {
		return nil // it can't be saved, or nothing was sent
	}
	err := m.save(!doubt && m.at >= m.earlier.Open.To)
	m.ended = true
	return err
}

// save writes the position. If all is true, every line that was sent has a known result.
// The caller holds m.mu.
func (m *resumeMark) save(all bool) error {
	if m.seq > 0 && (m.earlier.Proof == resumeProof{} || m.at >= m.earlier.Open.To) {
		m.note.Proof = resumeProof{m.seq, keyOf(m.text)}
	}
	note := m.note
	note.Answered = max(m.at, m.earlier.Answered)
	note.Failed = slices.Clip(note.Failed)
	for _, left := range rangesFrom(m.earlier.Failed, m.at+1) { // failed lines that have no new result yet
		note.Failed = append(note.Failed, [2]int{max(left[0], m.at+1), left[1]})
	}
	if !all {
		m.open.After = m.at
		note.Open = m.open
	}
	text, _ := json.Marshal(note) // a note can always be encoded
	if err := client.ReplaceFile(m.path, text); err != nil {
		m.ended = true
		return fmt.Errorf("cannot save the position of the batch: %w", err)
	}
	m.since, m.saved = 0, true
	return nil
}

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
	err = c.post("/v1/commit/preflight", fmt.Appendf(nil, probe, proof.Key), &at)
	switch errors.As(err, &refused); {
	case err == nil && at.AtSeq < proof.GlobalSeq:
		return false, nil
	case err == nil: // the key is not remembered
	case refused == nil || refused.Status >= 500:
		return false, err
	case refused.Code == string(ledger.IdempotencyConflict):
		json.Unmarshal(refused.Details, &at) // a token limited to owners does not get the number
		return at.GlobalSeq == 0 || at.GlobalSeq == proof.GlobalSeq, nil
	}
	if err := c.sameLedger(false); err != nil {
		return false, err
	}
	var result client.Result
	if err := c.readCommit(proof.GlobalSeq, &result); err != nil {
		return false, err
	}
	known = proof == resumeProof{result.GlobalSeq, keyOf(result.Metadata)}
	if known && open.To > 0 {
		err = fmt.Errorf("an earlier run was cut off and may have committed %s, and the ledger no longer remembers the key of commit %d: "+
			"ledgerctl read commits -from %[2]d shows which were committed; send the others with a new file name", lineRange(open.After+1, open.To), proof.GlobalSeq)
	}
	return known, err
}
