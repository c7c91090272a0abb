package systemtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A chromium is a headless Chromium, driven by the DevTools protocol over two
// pipes. Each JSON message ends with a zero byte. Chromium reads from its
// descriptor 3 and writes to its descriptor 4.
type chromium struct {
	cmd    *exec.Cmd
	folder string // its profile
	in     *os.File
	gone   chan struct{} // closed when Chromium closes its pipe

	mu      sync.Mutex
	last    int
	waiting map[int]chan reply
	tabs    map[string]*browser // by session
	ended   error
}

type reply struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// browserPatience is the maximum duration of a wait for the browser.
const browserPatience = 60 * time.Second

var errBrowserGone = errors.New("the browser is gone")

// sharedChromium runs all tabs, because starting it takes longer than many of
// the tests. The first test that needs it starts it.
var sharedChromium struct {
	once    sync.Once
	missing bool
	c       *chromium
	err     error
}

// theChromium returns the browser that all tests share. It skips the test if
// there is none. The headless shell is preferred, because it needs fewer
// resources.
func theChromium(t *testing.T) *chromium {
	t.Helper()
	skipUnderRace(t)
	s := &sharedChromium
	s.once.Do(func() {
		for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
			if path, err := exec.LookPath(name); err == nil {
				s.c, s.err = startChromium(path)
				return
			}
		}
		s.missing = true
	})
	if s.missing {
		t.Skip("NOT TESTED: the page; needs Chromium (Debian: apt-get install chromium-headless-shell)")
	}
	if s.err != nil {
		t.Fatalf("starting the browser: %v", s.err)
	}
	return s.c
}

// endChromium stops the shared browser if a test has started it.
func endChromium() {
	c := sharedChromium.c
	if c == nil {
		return
	}
	c.command("", "Browser.close", nil)
	timer := time.AfterFunc(10*time.Second, func() { syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) })
	<-c.gone
	c.cmd.Wait()
	timer.Stop()
	c.in.Close()
	os.RemoveAll(c.folder)
}

func startChromium(program string) (*chromium, error) {
	c := &chromium{gone: make(chan struct{}), waiting: map[int]chan reply{}, tabs: map[string]*browser{}}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirOut.Close()
	if c.folder, err = os.MkdirTemp("", "ledger-browser-"); err != nil {
		return nil, err
	}
	c.in = in
	c.cmd = exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
		"--user-data-dir="+c.folder, "--remote-debugging-pipe", "about:blank")
	c.cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // some systems start it through a script
	if err := c.cmd.Start(); err != nil {
		os.RemoveAll(c.folder)
		return nil, err
	}
	go c.read(out)
	return c, nil
}

// read passes replies to the waiting commands, and records the faults of pages
// in their tabs.
func (c *chromium) read(out *os.File) {
	defer close(c.gone)
	defer out.Close()
	r := bufio.NewReader(out)
	for {
		message, err := r.ReadBytes(0)
		c.mu.Lock()
		if err != nil {
			c.ended = errBrowserGone
			for _, w := range c.waiting {
				close(w)
			}
			c.waiting = nil
			c.mu.Unlock()
			return
		}
		var m struct {
			ID        int
			SessionID string
			Method    string
			Params    json.RawMessage
			reply
		}
		if json.Unmarshal(message[:len(message)-1], &m) == nil {
			if m.ID != 0 && c.waiting[m.ID] != nil {
				c.waiting[m.ID] <- m.reply
				delete(c.waiting, m.ID)
			}
			if b := c.tabs[m.SessionID]; b != nil {
				if fault := faultOf(m.Method, m.Params); fault != "" {
					b.faults = append(b.faults, fault)
				}
			}
		}
		c.mu.Unlock()
	}
}

// faultOf returns the fault that an event reports, or "" for none. A rejected
// request is not a fault, because a page may request what does not exist.
func faultOf(method string, params json.RawMessage) string {
	var p struct {
		Type  string
		Entry struct{ Source, Level, Text, URL string }
	}
	if json.Unmarshal(params, &p) != nil {
		return ""
	}
	switch {
	case method == "Runtime.exceptionThrown",
		method == "Runtime.consoleAPICalled" && (p.Type == "error" || p.Type == "warning" || p.Type == "assert"):
		return method + " " + string(params)
	case method == "Log.entryAdded" && p.Entry.Source != "network" && (p.Entry.Level == "error" || p.Entry.Level == "warning"):
		return p.Entry.Source + ": " + p.Entry.Text + " " + p.Entry.URL
	}
	return ""
}

// command sends a command to the tab of a session, or to the browser if session
// is "", and waits for its reply.
func (c *chromium) command(session, method string, params any) (json.RawMessage, error) {
	answer := make(chan reply, 1)
	if err := c.send(session, method, params, answer); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	select {
	case r, ok := <-answer:
		if !ok {
			return nil, fmt.Errorf("%s: %w", method, errBrowserGone)
		}
		if r.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, r.Error.Message)
		}
		return r.Result, nil
	case <-time.After(browserPatience):
		return nil, fmt.Errorf("%s: no reply in time", method)
	}
}

// send sends a command whose reply goes to answer.
func (c *chromium) send(session, method string, params any, answer chan reply) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		return c.ended
	}
	c.last++
	m := map[string]any{"id": c.last, "method": method}
	if params != nil {
		m["params"] = params
	}
	if session != "" {
		m["sessionId"] = session
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	c.waiting[c.last] = answer
	_, err = c.in.Write(append(text, 0))
	return err
}
