package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A ledger is a pair of daemons with a directory of their own.
type ledger struct {
	dir            string
	writer, reader *daemon
	large          int // global_seq of the commit of largeCommit
}

type daemon struct {
	cmd  *exec.Cmd
	addr string
}

func build(folder string) error {
	cmd := exec.Command("go", "build", "-o", folder+"/", "assetledger/cmd/ledger-write", "assetledger/cmd/ledger-read")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the daemons: %w\n%s", err, out)
	}
	return nil
}

func start(folder string, size scale) (l *ledger, err error) {
	l = &ledger{}
	if l.dir, err = os.MkdirTemp("", "hostile-ledger-"); err != nil {
		return nil, err
	}
	l.writer, err = spawn(folder, "ledger-write", "-dir", l.dir, "-max-inflight", fmt.Sprint(size.maxInflight), "-max-batch-body", fmt.Sprint(size.maxBody))
	if err == nil {
		l.reader, err = spawn(folder, "ledger-read", "-dir", l.dir)
	}
	if err == nil {
		err = l.must("/v1/commit", world)
	}
	if err != nil {
		l.remove()
	}
	return l, err
}

// spawn starts a daemon. Its log lines are discarded.
func spawn(folder, name string, args ...string) (*daemon, error) {
	d := &daemon{cmd: exec.Command(filepath.Join(folder, name), append(args, "-listen", "127.0.0.1:0")...)}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_, url, ok := strings.Cut(strings.TrimSpace(line), " ready on http://")
	if err != nil || !ok {
		d.end()
		return nil, fmt.Errorf("%s wrote %q: %v", name, line, err)
	}
	d.addr = url
	return d, nil
}

// end kills the daemon. It needs no graceful shutdown, because nothing waits for its
// responses any longer.
func (d *daemon) end() {
	d.cmd.Process.Kill()
	d.cmd.Wait()
}

func (l *ledger) remove() {
	for _, d := range []*daemon{l.writer, l.reader} {
		if d != nil {
			d.end()
		}
	}
	os.RemoveAll(l.dir)
}

// memory returns the daemon's anonymous memory, in bytes. Mapped pages of the
// log are not part of it, because they belong to the page cache.
func (d *daemon) memory() int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte("RssAnon:")); ok {
			kib, _ := strconv.ParseInt(strings.Fields(string(value))[0], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// must posts a body, and fails if the daemon does not accept it.
func (l *ledger) must(path, body string) error {
	_, err := l.post(path, body)
	return err
}

// commit posts one transaction, and returns the response. It fails if the
// daemon does not accept the transaction.
func (l *ledger) commit(body string) (string, error) { return l.post("/v1/commit", body) }

func (l *ledger) post(path, body string) (string, error) {
	resp, err := http.Post("http://"+l.writer.addr+path, "application/json", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != 200 || bytes.Contains(text, []byte(`"error"`))) {
		err = fmt.Errorf("%s: %s %.300s", path, resp.Status, text)
	}
	return string(text), err
}

// measured holds the measurements of the well-behaved client.
type measured struct {
	Took    []time.Duration // latencies of its commits, sorted
	Refused int
}

// noticed is the effect of an attack.
type noticed struct {
	measured
	write, read int64 // peak memory use of the daemons, in bytes
}

func (n *noticed) quantile(q float64) time.Duration {
	if len(n.Took) == 0 {
		return 0
	}
	return n.Took[int(q*float64(len(n.Took)-1))].Round(10 * time.Microsecond)
}

// within reports whether the limits of SECURITY.md were kept.
func (n *noticed) within(size scale) bool {
	ok := n.Refused == 0 && len(n.Took) > 0 && n.write <= size.mostWrite() && n.read <= mostRead
	if !ok {
		fmt.Fprintf(os.Stderr, "hostile: outside the limits of SECURITY.md: commits accepted %d, rejected %d (limit 0); bytes of memory: write daemon %d (limit %d), read daemon %d (limit %d)\n",
			len(n.Took), n.Refused, n.write, size.mostWrite(), n.read, int64(mostRead))
	}
	return ok
}

// watch samples the daemons' memory until stop is closed. After that, highest
// returns the maximum of each daemon, in bytes.
func (l *ledger) watch(stop <-chan struct{}) (highest func() (write, read int64)) {
	var write, read int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			write, read = max(write, l.writer.memory()), max(read, l.reader.memory())
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func() (int64, int64) {
		<-done
		return write, read
	}
}

// behave runs the well-behaved client in a process of its own, so that it does not
// compete with the attackers' goroutines.
func (l *ledger) behave(d time.Duration) (n noticed, err error) {
	self, err := os.Executable()
	if err != nil {
		return n, err
	}
	out, err := exec.Command(self, "-client", l.writer.addr, "-for", d.String()).Output()
	if err == nil {
		err = json.Unmarshal(out, &n.measured)
	}
	return n, err
}

// behave sends one commit after another for the duration d.
func behave(addr string, d time.Duration) (m measured) {
	client := &http.Client{Timeout: 30 * time.Second}
	for end := time.Now().Add(d); time.Now().Before(end); {
		start := time.Now()
		resp, err := client.Post("http://"+addr+"/v1/commit", "application/json", strings.NewReader(goodCommit))
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		switch {
		case err != nil || resp.StatusCode != 200:
			m.Refused++
			time.Sleep(10 * time.Millisecond)
		default:
			m.Took = append(m.Took, time.Since(start))
		}
	}
	slices.Sort(m.Took)
	return m
}

// deaf opens a connection with a small receive buffer, for sending requests
// without reading the responses.
func (d *daemon) deaf() (net.Conn, error) {
	c, err := net.Dial("tcp", d.addr)
	if err != nil {
		return nil, err
	}
	return c, errors.Join(c.(*net.TCPConn).SetReadBuffer(4096), c.SetDeadline(time.Now().Add(2*time.Minute)))
}
