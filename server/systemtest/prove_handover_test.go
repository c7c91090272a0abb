package systemtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestProveHandover stops and kills the writer of a ledger on several machines
// while ledgerctl batch and all clients commit long streams, each with the
// addresses of all daemons. Every line must be committed exactly once, and every
// client must succeed without help.
func TestProveHandover(t *testing.T) {
	rounds := proof(t, 1, 6)
	all := map[string]func(write string) *exec.Cmd{"ledgerctl": func(write string) *exec.Cmd {
		return exec.Command(filepath.Join(buildPrograms(t), "ledgerctl"), "batch", "-", "-o", "ndjson", "-write-url", write)
	}}
	for language := range clientDrivers {
		t.Run(language, func(t *testing.T) { // skipped if a tool is missing
			run := prepareClient(t, language)
			all[language] = func(write string) *exec.Cmd { return run("drive", "stream", write) }
		})
	}
	for range rounds { // each with a new log
		t.Run("round", func(t *testing.T) {
			r := newClusterRig(t, rand.Uint64(), clusterPlan{writers: 2, segment: "4194304"})
			var streams []*longStream
			for name, run := range all {
				streams = append(streams, startLongStream(t, name, run("http://"+r.machines[0].listen+",http://"+r.machines[1].listen)))
			}
			for _, f := range []fault{{"ask the writer to stop", r.handOver}, {"kill the writer", r.killWriter}} {
				awaitResults(r, streams)
				for _, s := range streams {
					s.pauses.begin()
				}
				f.do()
				awaitResults(r, streams)
				for _, s := range streams {
					t.Logf("%s: %s had no result for %v", f.name, s.name, s.pauses.worst())
				}
			}
			told := map[string]uint64{}
			for _, s := range streams {
				s.end(t, told)
			}
			r.settle()
			r.compareLines(told)
		})
	}
}

// compareLines compares the directories of all machines with each other, and the
// log with the global_seq that clients were told for each line.
func (r *clusterRig) compareLines(told map[string]uint64) {
	r.t.Helper()
	for _, m := range r.machines {
		r.dir = m.dir
		r.verify()
		sameSegments(r.t, r.machines[0].dir, m.dir)
	}
	commits, err := readCommitsBack(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	lines := len(told)
	for _, c := range commits {
		key := string(c.Record.Tx.Key)
		if key != "set-up" && told[key] != c.Seq {
			r.t.Fatalf("commit %d is the line %q, but its client was told %d", c.Seq, key, told[key])
		}
		delete(told, key)
	}
	if len(told) > 0 {
		r.t.Errorf("%d of %d lines were acknowledged, but are lost", len(told), lines)
	}
	r.t.Logf("%d lines, each committed once", lines)
}

// handOver stops the writer with SIGTERM, and starts it again once another daemon
// writes.
func (r *clusterRig) handOver() {
	m := r.writer()
	m.write.stop(r.t)
	r.another(m)
	r.start(m)
}

// A longStream is a client that commits one line after another until it is told
// to stop.
type longStream struct {
	name    string // begins the idempotency keys
	cmd     *exec.Cmd
	words   bytes.Buffer
	stop    chan struct{}
	running sync.WaitGroup
	pauses  pauses
	lines   int // sent
	results atomic.Int64
	seqs    []uint64 // of the results
	err     error    // of reading the results
}

// startLongStream starts a client. Its lines go to its standard input:
// transactions to ledgerctl, idempotency keys to the others.
func startLongStream(t *testing.T, name string, cmd *exec.Cmd) *longStream {
	t.Helper()
	s := &longStream{name: name, cmd: cmd, stop: make(chan struct{})}
	cmd.Stderr = &s.words
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	s.running.Go(func() { s.send(in) })
	s.running.Go(func() { s.receive(out) })
	return s
}

// send sends lines as fast as the client reads them.
func (s *longStream) send(to io.WriteCloser) {
	defer to.Close()
	out := bufio.NewWriter(to)
	defer out.Flush()
	format := "%s-%d\n"
	if s.name == "ledgerctl" {
		format = `{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":1}}],"idempotency_key":"%s-%d"}` + "\n"
	}
	for {
		select {
		case <-s.stop:
			return
		default:
		}
		if _, err := fmt.Fprintf(out, format, s.name, s.lines+1); err != nil {
			return // the client has exited, and end reports why
		}
		s.lines++
	}
}

// receive reads the results, which are in the order of the lines.
func (s *longStream) receive(from io.Reader) {
	for in := bufio.NewScanner(from); in.Scan(); {
		var line int
		var seq uint64
		if s.name == "ledgerctl" {
			var result struct {
				Line int
				Seq  uint64 `json:"global_seq"`
			}
			json.Unmarshal(in.Bytes(), &result)
			line, seq = result.Line, result.Seq
		} else {
			fmt.Sscanf(in.Text(), "ack "+s.name+"-%d %d", &line, &seq)
		}
		n := len(s.seqs)
		if s.err == nil && (line != n+1 || seq == 0 || n > 0 && seq <= s.seqs[n-1]) {
			s.err = fmt.Errorf("result %d is %q, want that of line %d with a larger global_seq", n+1, in.Text(), n+1)
		}
		s.seqs = append(s.seqs, seq)
		s.pauses.end()
		s.results.Add(1)
	}
}

// awaitResults waits for 2000 more results from each client.
func awaitResults(r *clusterRig, streams []*longStream) {
	r.t.Helper()
	var from []int64
	for _, s := range streams {
		from = append(from, s.results.Load())
	}
	r.until("results", func() bool {
		for i, s := range streams {
			if s.results.Load() < from[i]+2000 {
				return false
			}
		}
		return true
	})
}

// end stops sending lines, waits for the client to exit, and adds its results to told.
func (s *longStream) end(t *testing.T, told map[string]uint64) {
	t.Helper()
	close(s.stop)
	late := time.AfterFunc(time.Minute, func() { s.cmd.Process.Kill() })
	defer late.Stop()
	s.running.Wait()
	if err := s.cmd.Wait(); err != nil || s.err != nil || len(s.seqs) != s.lines {
		t.Fatalf("%s: %v, %v, %d results, want one for each of %d lines\n%s", s.name, err, s.err, len(s.seqs), s.lines, s.words.String())
	}
	for i, seq := range s.seqs {
		told[fmt.Sprintf("%s-%d", s.name, i+1)] = seq
	}
}
