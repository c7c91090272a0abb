package systemtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"assetledger/ledger/modeltest"
	"assetledger/wal"
)

// A rig is a ledger of real processes under load: 32 clients, a write daemon, a
// read daemon with a poller, and a record of everything that they saw.
//
//	newRig → start → (load → fault → check)… → close
type rig struct {
	t       *testing.T
	dir     string // of the log
	segment string // its -segment-size
	write   *process
	read    *process
	writeAt *target
	readAt  *target
	clients []*client
	poller  *poller
	began   *job             // the job of setUp
	reads   []modeltest.Read // of all checks so far
	stop    chan struct{}
	loading sync.WaitGroup
}

const rigClients = 32

func newRig(t *testing.T, dir, segment string, seed uint64) *rig {
	r := &rig{t: t, dir: dir, segment: segment, writeAt: newTarget(), readAt: newTarget()}
	var err error
	if r.began, err = newJob("/v1/commit", true, setUp()); err != nil {
		t.Fatal(err)
	}
	for i := range rigClients {
		r.clients = append(r.clients, newClient(i, seed, r.writeAt))
	}
	r.poller = startPoller(seed, r.readAt)
	t.Cleanup(r.close)
	return r
}

// close stops everything that is running. It may be called twice.
func (r *rig) close() {
	r.endLoad()
	if r.poller != nil {
		r.poller.stop()
		r.poller = nil
	}
	r.kill(true, true)
}

// start starts the daemons that are not running.
func (r *rig) start() {
	r.t.Helper()
	if r.write == nil {
		r.write = startProcess(r.t, "ledger-write", "-dir", r.dir, "-segment-size", r.segment)
		if r.began.parts[0].Seq == 0 {
			a, err := post(r.clients[0].http, r.write.url+r.began.path, r.began.body)
			if err == nil {
				_, err = r.began.settle(a)
			}
			if err != nil || !r.began.acknowledged() {
				r.t.Fatalf("setup: %v %d %s", err, a.status, a.body)
			}
		}
		r.writeAt.set(r.write.url)
	}
	if r.read == nil {
		r.read = startProcess(r.t, "ledger-read", "-dir", r.dir)
		r.readAt.set(r.read.url)
	}
}

// kill kills the write daemon, the read daemon or both with SIGKILL.
func (r *rig) kill(write, read bool) {
	if write && r.write != nil {
		r.writeAt.clear()
		r.write.kill()
		r.write = nil
	}
	if read && r.read != nil {
		r.readAt.clear()
		r.read.kill()
		r.read = nil
	}
}

// load starts the clients. They continue while daemons come and go.
func (r *rig) load() {
	r.stop = make(chan struct{})
	for _, c := range r.clients {
		r.loading.Go(func() { c.run(r.stop) })
	}
}

// endLoad stops the clients. Each one finishes its request in progress.
func (r *rig) endLoad() {
	if r.stop != nil {
		close(r.stop)
		r.loading.Wait()
		r.stop = nil
	}
}

// acknowledged returns the number of acknowledged transactions, and the number of
// transactions whose outcome is unknown.
func (r *rig) acknowledged() (done, open int) {
	for _, c := range r.clients {
		for _, j := range c.jobs {
			for _, p := range j.parts {
				switch p.Ending {
				case modeltest.Acknowledged:
					done++
				case modeltest.Unknown:
					open++
				}
			}
		}
	}
	return done, open
}

// verify checks the log with ledgerctl.
func (r *rig) verify() {
	r.t.Helper()
	if code, out, words := runProgram(r.t, "ledgerctl", "wal", "verify", "-dir", r.dir); code != 0 {
		r.t.Fatalf("ledgerctl wal verify: exit code %d\n%s%s", code, out, words)
	}
}

// check reads the log back, and compares it with everything that the clients
// and the poller saw. The load must have ended.
func (r *rig) check() error {
	reads, faults := r.poller.take()
	r.reads = append(r.reads, reads...)
	for _, c := range r.clients {
		faults = append(faults, c.err)
	}
	h := modeltest.History{Others: true} // requests without an idempotency key are not in the history
	unkeyed := map[string]*part{}
	for _, j := range append(r.jobs(), r.began) {
		for _, p := range j.parts {
			if j.keyed {
				h.Requests = append(h.Requests, p.Request)
			} else {
				unkeyed[onceOf(p.Tx.Metadata)] = p
			}
		}
	}
	var err error
	if h.Commits, err = readCommitsBack(r.dir); err != nil {
		return errors.Join(append(faults, err)...)
	}
	h.Reads = r.reads
	faults = append(faults, checkUnkeyed(h.Commits, unkeyed)...)
	return errors.Join(append(faults, h.Check())...)
}

func (r *rig) jobs() (all []*job) {
	for _, c := range r.clients {
		all = append(all, c.jobs...)
	}
	return all
}

// readCommitsBack reads all commits of a log.
func readCommitsBack(dir string) (commits []modeltest.Commit, err error) {
	_, err = wal.Verify(dir, wal.VerifyOptions{OnFrame: func(f *wal.FrameInfo) error {
		if f.Seal {
			return nil
		}
		frame := f.Frame
		frame.Body = append([]byte(nil), frame.Body...) // decoded records alias the body
		return frame.Each(func(seq uint64, record []byte) error {
			c := modeltest.Commit{Seq: seq, BatchSeq: uint32(seq - frame.First + 1)}
			if err := c.Record.Decode(record); err != nil {
				return err
			}
			commits = append(commits, c)
			return nil
		})
	}})
	return commits, err
}

func onceOf(metadata []byte) string {
	var m struct{ Once string }
	json.Unmarshal(metadata, &m)
	return m.Once
}

// checkUnkeyed looks for the requests without an idempotency key by the mark in
// their metadata. Acknowledged ones must be there once, rejected ones not at
// all, and all others at most once.
func checkUnkeyed(commits []modeltest.Commit, sent map[string]*part) (faults []error) {
	found := map[string]uint64{}
	for _, c := range commits {
		if len(c.Record.Tx.Key) > 0 {
			continue
		}
		once := onceOf(c.Record.Tx.Metadata)
		p := sent[once]
		switch {
		case p == nil:
			faults = append(faults, fmt.Errorf("no client sent commit %d", c.Seq))
		case found[once] != 0:
			faults = append(faults, fmt.Errorf("request %s, sent once, is commit %d and commit %d", once, found[once], c.Seq))
		case p.Ending == modeltest.Refused || p.Ending == modeltest.Acknowledged && (p.Seq != c.Seq || p.BatchSeq != c.BatchSeq):
			faults = append(faults, fmt.Errorf("request %s was answered with %q %s, but is commit %d", once, p.Code, p.answer, c.Seq))
		case !modeltest.Same(&p.Tx, &c.Record.Tx):
			faults = append(faults, fmt.Errorf("request %s differs from commit %d", once, c.Seq))
		}
		found[once] = c.Seq
	}
	for once, p := range sent {
		if p.Ending == modeltest.Acknowledged && found[once] == 0 {
			faults = append(faults, fmt.Errorf("request %s was acknowledged as commit %d and is lost", once, p.Seq))
		}
	}
	return faults
}

// lost returns the number of lost commits that a check has found.
func lost(err error) int {
	if err == nil {
		return 0
	}
	return strings.Count(err.Error(), "and is lost")
}
