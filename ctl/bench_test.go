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

// TestBench runs the benchmark against real daemons twice. The second run finds
// what the first has created.
func TestBench(t *testing.T) {
	t.Parallel()
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
		cmd.Env = append(cmd.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=0")
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

// TestBenchAsks checks that a ledger with commits of others is not used without
// permission. -clean leaves nothing, and the next run creates everything again.
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
		if !strings.Contains(out, "stream ") || !strings.Contains(out, "SLOWEST") {
			t.Error(out)
		}
		if left := x.must(exitDone, "", "read", "containers", "-o", "ndjson"); strings.Count(left, "\n") != 1 {
			t.Errorf("left: %s", left)
		}
	}
}

// TestBenchLeavesOthersAlone checks that bench moves and removes only what it
// has created, whatever ids it is given. Otherwise it changes nothing. Its own
// ids differ from those that the ledger assigns, and JavaScript doesn't round
// them.
func TestBenchLeavesOthersAlone(t *testing.T) {
	x := tool{t, startDaemons(t, t.TempDir())}
	x.must(exitDone, "", "register", "class", "EUR", "-name", "Euro", "-decimals", "2")
	for _, words := range []string{"create wallet/7", "add wallet/7 100 EUR", "create wallet/8", "add wallet/8 50 EUR", "create 907"} {
		x.must(exitDone, "", strings.Fields(words)...)
	}
	all := func() string {
		x.must(exitDone, "", "freshness", "-wait", strings.TrimSpace(x.endSeq()))
		return x.must(exitDone, "", "read", "balances", "wallet/7") + x.must(exitDone, "", "read", "balances", "wallet/8") + x.must(exitDone, "", "read", "container", "907")
	}
	bench := func(more ...string) (int, string) {
		code, _, words := x.run("", append([]string{"bench", "-yes", "-clean", "-clients", "2", "-duration", "50ms"}, more...)...)
		return code, words
	}
	before, end := all(), x.endSeq()
	for _, ids := range [][]string{
		{"-first-id", fmt.Sprint(ledger.FirstAssigned), "-containers", "2"},     // the class is EUR
		{"-first-id", fmt.Sprint(ledger.FirstAssigned - 1), "-containers", "3"}, // the class is free, and the wallets are in the range
		{"-first-id", "900", "-containers", "10"},
	} {
		if code, words := bench(ids...); code != exitRefused || !strings.Contains(words, "give another -first-id; nothing was done") {
			t.Errorf("%v: exit code %d, %s", ids, code, words)
		}
	}
	if got := x.endSeq(); got != end {
		t.Errorf("refused runs made the commits from %s to %s", end, got)
	}
	code, words := bench("-containers", "20")
	var class, first, last int64
	if _, err := fmt.Sscanf(words[strings.Index(words, "class "):], "class %d and containers %d to %d", &class, &first, &last); err != nil || code != exitDone {
		t.Fatalf("exit code %d, %v: %s", code, err, words)
	}
	if last >= ledger.FirstAssigned || last >= 1<<53 {
		t.Errorf("its ids go up to %d", last)
	}
	// What others have put into a container of bench is not removed.
	if code, words := bench("-first-id", "800", "-containers", "4", "-clean=false"); code != exitDone {
		t.Fatal(words)
	}
	x.must(exitDone, "", "add", "802", "7", "EUR")
	if code, words := bench("-first-id", "800", "-containers", "4"); code != exitRefused || !strings.Contains(words, "container 802") {
		t.Errorf("exit code %d, %s", code, words)
	}
	if after := all(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	for _, most := range []string{"9007199254740991", "9007199253740992"} {
		if code, words := bench("-first-id", most); code != exitUsage {
			t.Errorf("-first-id %s: exit code %d, %s", most, code, words)
		}
	}
}

// endSeq returns the number of the last commit.
func (x tool) endSeq() string {
	x.t.Helper()
	_, rest, _ := strings.Cut(x.must(exitDone, "", "health", "-o", "json"), `"end_seq":`)
	end, _, _ := strings.Cut(rest, ",")
	return end
}
