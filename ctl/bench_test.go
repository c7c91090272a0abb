package ctl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"assetledger/ctl/client"
	"assetledger/ledger"
)

func TestLatencies(t *testing.T) {
	var l latencies
	for i := 1; i <= 1000; i++ {
		l.add(time.Duration(i)*time.Millisecond, 1)
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 501, 0.99: 991, 0.9999: 1000, 1: 1000} {
		want *= time.Millisecond
		if got := l.at(q); got < want || got > want+want/latencySteps {
			t.Errorf("quantile %v is %v, want %v or at most 1/%d more", q, got, want, latencySteps)
		}
	}
	for d := time.Duration(1); d < time.Hour; d += 1 + d/7 {
		var l latencies
		l.add(d, 2)
		l.add(10*d, 1)
		if got := l.at(0.5); got < d || got > d+d/latencySteps {
			t.Fatalf("a latency of %v is shown as %v, want at most 1/%d more", d, got, latencySteps)
		}
	}
}

func TestMix(t *testing.T) {
	b := bench{mix: "single=2,read=3"}
	if err := b.setOrder(); err != nil || !slices.Equal(b.order, []int{single, single, reading, reading, reading}) {
		t.Errorf("the order is %v (%v), want two single commits and three reads", b.order, err)
	}
	for _, bad := range []string{"", "single", "single=-1", "single=0", "writes=1", "single=1,,"} {
		if (&bench{mix: bad}).setOrder() == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// TestBench runs the benchmark against real daemons twice. The containers of the
// first run are still there in the second.
func TestBench(t *testing.T) {
	t.Parallel()
	d := startDaemons(t, filepath.Join(t.TempDir(), "data"))
	x := tool{t, d}
	for i := range 2 {
		cmd := exec.Command(os.Args[0], "bench", fmt.Sprintf("-clean=%v", i == 1), "-write-url", d.writeURL, "-read-url", d.readURL, "-clients", "4", "-duration", "500ms",
			"-mix", "single=1,batch=1,stream=1,read=1", "-batch", "7", "-containers", "50", "-o", "json")
		cmd.Env = append(cmd.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=0")
		var words strings.Builder
		cmd.Stderr = &words
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err, words.String())
		}
		if !strings.Contains(words.String(), "created containers ") || strings.Contains(words.String(), "\r") {
			t.Errorf("standard error is %q, want the ids of the containers and no progress line", words.String())
		}
		if left := x.must(exitDone, "", "read", "containers", "-o", "ndjson"); strings.Count(left, "\n") != 50 {
			t.Errorf("after run %d there must be 50 containers: %s", i, left)
		}
		rows := json.NewDecoder(bytes.NewReader(out))
		for i := range benchKinds {
			var r struct {
				Request  string
				Answered int
				P50      int `json:"p50_us"`
				Slowest  int `json:"slowest_us"`
			}
			if err := rows.Decode(&r); err != nil {
				t.Fatalf("row %d can't be decoded: %v: %s", i, err, out)
			}
			if r.Request != benchNames[i] || r.Answered == 0 || r.P50 == 0 || r.Slowest < r.P50 {
				t.Errorf("row %d is %+v, want responses and times of %s", i, r, benchNames[i])
			}
		}
	}
}

// TestBenchAsks checks that bench does not use a ledger with other commits without
// permission, leaves no containers, and creates new ones in the next run.
func TestBenchAsks(t *testing.T) {
	x := tool{t, startDaemons(t, t.TempDir())}
	x.must(exitDone, "", "create", "7")
	args := []string{"bench", "-clients", "2", "-duration", "50ms", "-containers", "10", "-mix", "stream=1", "-batch", "50"}
	if _, _, words := x.run("", args...); !strings.Contains(words, "1 commit from elsewhere") {
		t.Errorf("bench must report the commit from elsewhere: %s", words)
	}
	if commits := x.must(exitDone, "", "health", "-o", "json"); !strings.Contains(commits, `"end_seq":1,`) {
		t.Errorf("bench must commit nothing: %s", commits)
	}
	for range 2 {
		out := x.must(exitDone, "", append(args, "-yes")...)
		if !strings.Contains(out, "stream ") || !strings.Contains(out, "SLOWEST") {
			t.Errorf("the table must have a row of streams and the column SLOWEST: %s", out)
		}
		if left := x.must(exitDone, "", "read", "containers", "-o", "ndjson"); strings.Count(left, "\n") != 1 {
			t.Errorf("only the first container must be left: %s", left)
		}
	}
}

// TestBenchIsInterrupted checks that bench, if it is interrupted while it creates its
// containers, removes those that it has created.
func TestBenchIsInterrupted(t *testing.T) {
	t.Parallel()
	x := tool{t, startDaemons(t, t.TempDir())}
	const most = 1_000_000
	cmd := exec.Command(os.Args[0], "bench", "-write-url", "", "-read-url", x.daemons.readURL, "-containers", strconv.Itoa(most))
	var once sync.Once
	answered := make(chan struct{})
	cmd.Args[3] = forward(t, x.daemons.writeURL, func(client io.Writer, server io.Reader) {
		if n, err := io.CopyN(client, server, 4<<10); n > 0 && err == nil {
			once.Do(func() { close(answered) })
		}
		io.Copy(client, server)
	})
	cmd.Env = append(cmd.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=0")
	var words strings.Builder
	cmd.Stderr = &words
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		select {
		case <-answered:
			cmd.Process.Signal(os.Interrupt)
		case <-t.Context().Done():
		}
	}()
	cmd.Wait()
	var first, last int
	if _, err := fmt.Sscanf(words.String(), "ledgerctl: created containers %d to %d", &first, &last); err != nil || last-first+1 >= most {
		t.Errorf("want fewer than %d created containers: %v, %s", most, err, &words)
	}
	if want := "ledgerctl: removed the containers\nledgerctl: stopped by a signal (interrupt)\n"; cmd.ProcessState.ExitCode() != 130 || !strings.HasSuffix(words.String(), want) {
		t.Errorf("%v, want exit code 130 and %q: %s", cmd.ProcessState, want, &words)
	}
	if left := x.must(exitDone, "", "read", "containers", "-o", "ndjson"); left != "" || x.endSeq() == "1" {
		t.Errorf("after %s commits, %d containers are left; want several commits and no container", x.endSeq(), strings.Count(left, "\n"))
	}
}

// TestBenchLeavesOthersAlone checks that bench ends at the first id that is in use. Its own
// ids must differ from those that the ledger assigns, and be exact in JavaScript.
func TestBenchLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	x := tool{t, startDaemons(t, t.TempDir())}
	code, _, words := x.run("", "bench", "-clean=false", "-clients", "1", "-duration", "50ms", "-containers", "20")
	var first, last int64
	if _, err := fmt.Sscanf(words[strings.Index(words, "containers "):], "containers %d to %d", &first, &last); err != nil || code != exitDone || last != first+19 {
		t.Fatalf("exit code %d, want 0 and 20 containers: %v: %s", code, err, words)
	}
	if first < 1<<51 || last >= ledger.FirstAssigned || last >= 1<<53 {
		t.Errorf("its ids are %d to %d, want them from 2^51 up and below those that the ledger assigns", first, last)
	}
	end := x.endSeq()
	var ops []client.Operation
	for id := last; id < last+3; id++ {
		ops = append(ops, client.Op("CreateContainer", client.Args{"container_id": id, "kind": "Standard"}))
	}
	c := &call{ctx: t.Context()}
	c.writeURL, c.timeout.Duration, c.api = x.daemons.writeURL, time.Minute, newClient(&c.connecting, idle)
	if _, err := c.commitOps(ops); exitCode(err) != exitRefused || x.endSeq() != end {
		t.Errorf("the last commit was %s and is %s, with %v; want a rejection, and no commit", end, x.endSeq(), err)
	}
}

// endSeq returns the number of the last commit.
func (x tool) endSeq() string {
	x.t.Helper()
	_, rest, _ := strings.Cut(x.must(exitDone, "", "health", "-o", "json"), `"end_seq":`)
	end, _, _ := strings.Cut(rest, ",")
	return end
}
