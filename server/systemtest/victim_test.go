package systemtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A victim is a pair of daemons, by default with short timeouts, and a well-behaved
// client.
type victim struct {
	*testing.T
	w, r  *process
	stop  chan struct{}
	ended chan struct{}
	acked *atomic.Int64 // units in the commits that were acknowledged to the good client
	scale int           // factor for large attacks: 10 in the long form
}

func newVictim(t *testing.T, more ...string) *victim {
	t.Helper()
	limits := more
	for _, limit := range [][2]string{{"-header-timeout", "3s"}, {"-read-timeout", "6s"}, {"-write-timeout", "6s"}, {"-idle-timeout", "6s"}} {
		if !slices.Contains(more, limit[0]) {
			limits = append(limits, limit[0], limit[1])
		}
	}
	dir := t.TempDir()
	v := &victim{T: t, acked: new(atomic.Int64), stop: make(chan struct{}), ended: make(chan struct{})}
	v.w = startProcess(t, "ledger-write", append(limits, "-dir", dir, "-segment-size", fmt.Sprint(16<<20),
		"-idempotency-keys", "1000", "-max-inflight", fmt.Sprint(128<<20))...)
	v.r = startProcess(t, "ledger-read", append(limits, "-dir", dir)...)
	mustCommit(t, v.w.url, goodContainers)
	go v.behave()
	return v
}

// behave commits and reads back until it is stopped. There is a short pause before
// each commit, so that the attacks get processor time.
func (v *victim) behave() {
	defer close(v.ended)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	pause := time.NewTicker(50 * time.Millisecond)
	defer pause.Stop()
	for n := 1; ; n++ {
		select {
		case <-v.stop:
			return
		case <-pause.C:
		}
		a, err := post(client, v.w.url+"/v1/commit", goodCommit)
		if err != nil || a.status != 200 {
			v.Errorf("the well-behaved client was rejected: %v %d %s", err, a.status, a.body)
			return
		}
		v.acked.Add(1)
		if a, err = get(client, v.r.url+"/v1/read/container/1/balances?wait=20s&min_seq="+seqOf(a.body)); err != nil ||
			!strings.Contains(a.body, fmt.Sprintf(`"quantity":%d}`, n)) {
			v.Errorf("the well-behaved client read: %v %d %s", err, a.status, a.body)
			return
		}
	}
}

// finish checks that the read daemon has all acknowledged commits of the good
// client, and that neither daemon has used too much memory. It stops both daemons.
func (v *victim) finish() {
	close(v.stop)
	<-v.ended
	want := fmt.Sprintf(`"quantity":%d}`, v.acked.Load())
	a, err := get(http.DefaultClient, v.r.url+"/v1/read/container/1/balances")
	if err != nil || !strings.Contains(a.body, want) || v.acked.Load() == 0 {
		v.Errorf("balance: %v %s, want %s", err, a.body, want)
	}
	for _, m := range []struct {
		p    *process
		most int64
	}{{v.w, mostWriteMemory}, {v.r, mostReadMemory}} {
		highest := statusBytes(v.T, m.p, "VmHWM")
		v.Logf("%s: at most %d MiB resident (mapped segments of the log included); %d good commits meanwhile", m.p.name, highest>>20, v.acked.Load())
		if highest > m.most {
			v.Errorf("%s had %d bytes resident, more than %d", m.p.name, highest, m.most)
		}
	}
	v.w.stop(v.T)
	v.r.stop(v.T)
}

// statusBytes returns a field of /proc/PID/status, converted from kB to bytes.
func statusBytes(t *testing.T, p *process, field string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(field + `:\s+(\d+) kB`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in %s", field, text)
	}
	kib, _ := strconv.ParseInt(string(m[1]), 10, 64)
	return kib << 10
}

// A rawConn is a connection that can send anything.
type rawConn struct {
	*net.TCPConn
	t  *testing.T
	in *bufio.Reader
}

func (v *victim) dial(p *process) *rawConn {
	v.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		v.Fatal(err)
	}
	v.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute)) // in case the daemon never closes it
	return &rawConn{c.(*net.TCPConn), v.T, bufio.NewReader(c)}
}

// send sends text, and ignores errors: the daemon may close the connection first.
func (c *rawConn) send(text string) { io.WriteString(c, text) }

// answer reads one response.
func (c *rawConn) answer() (status int, body string) {
	c.t.Helper()
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.t.Fatalf("no response: %v", err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatalf("an incomplete response: %v", err)
	}
	return res.StatusCode, string(b)
}

// isDropped waits until the daemon closes the connection, and returns what it
// sent before.
func (c *rawConn) isDropped() string {
	c.t.Helper()
	said, err := io.ReadAll(c.in)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Error("the daemon did not close the connection")
	}
	return string(said)
}

// drip sends the byte every 20 ms until the other end is gone.
func (c *rawConn) drip(b byte) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if _, err := c.Write([]byte{b}); err != nil {
			return
		}
	}
}

// seqOf returns the global_seq of a result.
func seqOf(body string) string {
	_, seq, _ := strings.Cut(body, `{"global_seq":`)
	seq, _, _ = strings.Cut(seq, ",")
	return seq
}

func postHead(path string, lines ...string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + strings.Join(append(lines, ""), "\r\n") + "\r\n"
}

// metric returns the value of a series, or 0 if it is absent.
func (v *victim) metric(p *process, series string) float64 {
	v.Helper()
	a, err := get(http.DefaultClient, p.url+"/v1/metrics")
	if err != nil {
		v.Fatal(err)
	}
	_, rest, _ := strings.Cut(a.body, "\n"+series+" ")
	value, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.ParseFloat(value, 64)
	return n
}
