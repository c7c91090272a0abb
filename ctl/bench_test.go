package ctl

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLatencies(t *testing.T) {
	var l latencies
	for i := 1; i <= 1000; i++ {
		l.add(time.Duration(i)*time.Millisecond, 1)
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 501, 0.99: 991, 0.9999: 1000, 1: 1000} {
		want *= time.Millisecond
		if got := l.at(q); got < want || got > want+want/latencySteps {
			t.Errorf("%v: %v, want %v to a 32nd", q, got, want)
		}
	}
	for d := time.Duration(1); d < time.Hour; d += 1 + d/7 {
		if i := bucket(d); upper(i) < d || i > 0 && upper(i-1) >= d {
			t.Fatalf("%d is in bucket %d, which ends at %d", d, i, upper(i))
		}
	}
}

func TestMix(t *testing.T) {
	var m benchMix
	if err := m.Set("single=2,read=3"); err != nil {
		t.Fatal(err)
	}
	var got [benchKinds]int
	for n := range 50 {
		got[m.pick(n)]++
	}
	if got != [benchKinds]int{single: 20, reading: 30} || m.String() != "single=2,read=3" {
		t.Errorf("%v %s", got, &m)
	}
	for _, bad := range []string{"", "single", "single=-1", "single=0", "writes=1", "single=1,,"} {
		if m.Set(bad) == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// TestBench loads real daemons twice: the second run finds what the first made.
func TestBench(t *testing.T) {
	d := startDaemons(t, filepath.Join(t.TempDir(), "data"))
	x := tool{t, d}
	for i := range 2 {
		if i == 1 { // the second run cleans up
			defer func() {
				if code, _, words := x.run("", "read", "container", "900"); code != exitRefused || !strings.Contains(words, "ContainerNotFound") {
					t.Errorf("container 900 is left: %d %s", code, words)
				}
			}()
		}
		cmd := exec.Command(os.Args[0], "bench", fmt.Sprintf("-clean=%v", i == 1), "-write-url", d.writeURL, "-read-url", d.readURL, "-clients", "4", "-duration", "1s",
			"-mix", "single=1,batch=1,stream=1,read=1", "-batch", "7", "-containers", "50", "-first-id", "900", "-o", "json")
		cmd.Env = append(cmd.Environ(), asProgram+"=1")
		var words strings.Builder
		cmd.Stderr = &words
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err, words.String())
		}
		if !strings.Contains(words.String(), "class 900 and containers 900 to 949") || strings.Contains(words.String(), "\r") {
			t.Errorf("it said %q", words.String())
		}
		var got struct {
			Requests []struct {
				Request  string
				Answered int
				P50      int `json:"p50_us"`
				Slowest  int `json:"slowest_us"`
			}
			Failed int
		}
		if err := json.Unmarshal(out, &got); err != nil || got.Failed != 0 || len(got.Requests) != benchKinds {
			t.Fatalf("%v: %s", err, out)
		}
		for i, r := range got.Requests {
			if r.Request != benchNames[i] || r.Answered == 0 || r.P50 == 0 || r.Slowest < r.P50 {
				t.Errorf("%+v", r)
			}
		}
	}
}

// TestBenchAsks: a ledger with commits of others is not loaded without leave. -clean
// leaves nothing, and the next run makes it anew.
func TestBenchAsks(t *testing.T) {
	x := tool{t, startDaemons(t, t.TempDir())}
	x.must(exitDone, "", "create", "7")
	args := []string{"bench", "-clients", "2", "-duration", "50ms", "-containers", "10", "-mix", "stream=1", "-batch", "50", "-clean"}
	if _, _, words := x.run("y\n", args...); !strings.Contains(words, "1 commit that bench did not make") {
		t.Error(words)
	}
	if commits := x.must(exitDone, "", "health", "-o", "json"); !strings.Contains(commits, `"end_seq":1,`) {
		t.Error(commits)
	}
	for range 2 {
		out := x.must(exitDone, "", append(args, "-yes")...)
		if !strings.Contains(out, "stream ") || !strings.Contains(out, "\nstream\n") || !strings.Contains(out, "####") {
			t.Error(out)
		}
		if left := x.must(exitDone, "", "read", "containers", "-o", "ndjson"); strings.Count(left, "\n") != 1 {
			t.Errorf("left: %s", left)
		}
	}
}
