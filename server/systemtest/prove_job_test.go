package systemtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"assetledger/ledger"
	"assetledger/ledger/modeltest"
)

// A job is one request of a client: a commit, a registration, a batch, or the
// lines of a stream.
type job struct {
	path  string
	body  string
	parts []*part // one for each transaction
	keyed bool    // it has idempotency keys, so it may be sent again
}

// A part is one transaction of a job, with its outcome.
type part struct {
	modeltest.Request
	answer string // the result that acknowledged it, without the mark of a replay
}

// newJob returns a job with one transaction for each body. For a batch or a stream,
// it combines the bodies into one request.
func newJob(path string, keyed bool, bodies ...string) (*job, error) {
	j := &job{path: path, keyed: keyed, body: bodies[0]}
	for _, body := range bodies {
		p := new(part)
		var err *ledger.Error
		switch path {
		case "/v1/register/class":
			err = ledger.ParseRegistration([]byte(body), ledger.EndpointRegisterClass, &p.Tx, ledger.ParseLimits{})
		case "/v1/register/class-shape":
			err = ledger.ParseRegistration([]byte(body), ledger.EndpointRegisterShape, &p.Tx, ledger.ParseLimits{})
		default:
			err = ledger.ParseTransaction([]byte(body), &p.Tx, ledger.ParseLimits{})
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %v", body, err)
		}
		j.parts = append(j.parts, p)
	}
	if path == "/v1/commit/batch" {
		j.body = `{"transactions":[` + strings.Join(bodies, ",") + `]}`
	}
	if path == "/v1/commit/stream" {
		j.body = strings.Join(bodies, "\n")
	}
	return j, nil
}

// settleLines records all results of a stream that have arrived. Each complete
// line is a promise. settleLines returns false if any result is missing or leaves
// the outcome open.
func (j *job) settleLines(text string) (settled bool, err error) {
	lines := strings.SplitAfter(text, "\n")
	lines = lines[:len(lines)-1] // an incomplete line, or nothing
	settled = len(lines) >= len(j.parts)
	for i, line := range lines {
		switch {
		case strings.Contains(line, `"lines_answered":`): // the daemon's own last line, which ends the stream
			return settled && i >= len(j.parts), nil
		case i >= len(j.parts):
			return true, fmt.Errorf("a stream of %d lines has one more result: %s", len(j.parts), line)
		case strings.Contains(line, `"error":{"code":"LogUnavailable"`), strings.Contains(line, `"error":{"code":"ShuttingDown"`):
			settled = false
			continue
		}
		if err := j.parts[i].settle(strings.Replace(strings.TrimSpace(line), `,"replayed":true}`, "}", 1)); err != nil {
			return true, err
		}
	}
	return settled, nil
}

// settle records the daemon's response. It returns false if the response leaves
// the outcome open. An error is a fault of the daemon.
func (j *job) settle(a answer) (settled bool, err error) {
	if a.status == 503 {
		return false, nil
	}
	if j.path == "/v1/commit/stream" {
		return j.settleLines(a.body)
	}
	if j.path != "/v1/commit/batch" {
		return true, j.parts[0].settle(a.body)
	}
	var batch struct{ Results []json.RawMessage }
	if err := json.Unmarshal([]byte(a.body), &batch); err != nil || a.status != 200 || len(batch.Results) != len(j.parts) {
		return true, fmt.Errorf("the response to a batch of %d is %d %s", len(j.parts), a.status, a.body)
	}
	settled = true
	for i, p := range j.parts {
		text := strings.Replace(string(batch.Results[i]), `,"replayed":true}`, "}", 1)
		if strings.Contains(text, `"error":{"code":"LogUnavailable"`) {
			settled = false
			continue
		}
		if err := p.settle(text); err != nil {
			return true, err
		}
	}
	return settled, nil
}

// settle records the result of one transaction. If the transaction was acknowledged
// before, the result must be the same.
func (p *part) settle(text string) error {
	var res struct {
		Seq      uint64  `json:"global_seq"`
		BatchSeq uint32  `json:"batch_seq"`
		Minted   []int64 `json:"minted_instances"`
		Error    struct{ Code string }
	}
	if err := json.Unmarshal([]byte(text), &res); err != nil {
		return fmt.Errorf("request %q: %w in %s", p.Tx.Key, err, text)
	}
	switch {
	case p.Ending == modeltest.Acknowledged && text != p.answer:
		return fmt.Errorf("the response to request %q was\n%s\nand, when it was repeated,\n%s", p.Tx.Key, p.answer, text)
	case res.Error.Code != "":
		if p.Ending != modeltest.Acknowledged {
			p.Ending, p.Code = modeltest.Refused, ledger.Code(res.Error.Code)
		}
		return nil
	case res.Seq == 0:
		return fmt.Errorf("the response to request %q is %s", p.Tx.Key, text)
	}
	p.Ending, p.answer = modeltest.Acknowledged, text
	p.Seq, p.BatchSeq, p.Minted = res.Seq, res.BatchSeq, len(res.Minted)
	if p.Minted > 0 {
		p.FirstMinted = res.Minted[0]
	}
	return nil
}

// acknowledged reports whether the whole job was committed.
func (j *job) acknowledged() bool {
	for _, p := range j.parts {
		if p.Ending != modeltest.Acknowledged {
			return false
		}
	}
	return true
}
