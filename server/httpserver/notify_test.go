package httpserver

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A fakeManager is the service manager's side of sd_notify.
type fakeManager struct {
	*net.UnixConn
	t    *testing.T
	path string
}

func newFakeManager(t *testing.T) *fakeManager {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetReadDeadline(time.Now().Add(time.Minute))
	return &fakeManager{conn, t, path}
}

// env returns the environment of a process that the manager started.
func (m *fakeManager) env(more ...string) func(string) (string, bool) {
	all := append([]string{"NOTIFY_SOCKET=" + m.path}, more...)
	return func(name string) (string, bool) {
		for _, e := range all {
			if v, ok := strings.CutPrefix(e, name+"="); ok {
				return v, true
			}
		}
		return "", false
	}
}

// next returns the next message.
func (m *fakeManager) next() string {
	m.t.Helper()
	b := make([]byte, 4096)
	n, err := m.Read(b)
	if err != nil {
		m.t.Fatal(err)
	}
	return string(b[:n])
}

func TestNotifier(t *testing.T) {
	t.Parallel()
	m := newFakeManager(t)
	n, err := NewNotifier(m.env("WATCHDOG_USEC=2000"))
	if err != nil {
		t.Fatal(err)
	}
	n.tick = 10 * time.Millisecond
	end := n.Starting("replaying", func() (done, of uint64) { return 5, 20 })
	if got := m.next(); got != "STATUS=replaying\nEXTEND_TIMEOUT_USEC=300000000" {
		t.Errorf("the first message is %q, want the status and 5 minutes", got)
	}
	if got := m.next(); got != "STATUS=replaying: commit 5 of 20 (25 %)\nEXTEND_TIMEOUT_USEC=30000000" {
		t.Errorf("with progress, the message is %q, want the status and 30 s", got)
	}
	if got := m.next(); got != "STATUS=replaying: commit 5 of 20 (25 %)" { // without progress, no more time is requested
		t.Errorf("without progress, the message is %q, want the status alone", got)
	}
	end()
	end()
	asked := make(chan struct{}, 1000)
	fmt.Fprintln(n.Announcing(io.Discard, func() { asked <- struct{}{} }), "ready on x")
	got := m.next()
	for strings.HasPrefix(got, "STATUS=replaying") { // one may have been in flight
		got = m.next()
	}
	if got != "READY=1\nSTATUS=ready on x" {
		t.Errorf("when the daemon is ready, the message is %q, want READY and its line", got)
	}
	for range 3 {
		if got := m.next(); got != "WATCHDOG=1" {
			t.Errorf("while the daemon serves, the message is %q, want WATCHDOG", got)
		}
	}
	if len(asked) < 3 {
		t.Errorf("a sign of life was sent without a call to alive")
	}
	n.Stopping("over")
	n.Stopping("twice")
	for got = m.next(); got == "WATCHDOG=1"; {
		got = m.next()
	}
	if got != "STOPPING=1\nSTATUS=over\nEXTEND_TIMEOUT_USEC=30000000" {
		t.Errorf("at the end, the message is %q, want STOPPING, the first reason and 30 s", got)
	}
}

func TestNotifierSettings(t *testing.T) {
	m := newFakeManager(t)
	own := fmt.Sprintf("WATCHDOG_PID=%d", os.Getpid())
	for _, c := range []struct {
		env      []string
		watchdog time.Duration
	}{
		{nil, 0},
		{[]string{"WATCHDOG_USEC=1000"}, time.Millisecond},
		{[]string{"WATCHDOG_USEC=1000", own}, time.Millisecond},
		{[]string{"WATCHDOG_USEC=1000", "WATCHDOG_PID=1"}, 0},
		{[]string{"WATCHDOG_USEC=x"}, 0},
		{[]string{"WATCHDOG_USEC=-5"}, 0},
	} {
		if n, err := NewNotifier(m.env(c.env...)); err != nil || n.watchdog != c.watchdog {
			t.Errorf("%v: watchdog %v (%v), want %v", c.env, n.watchdog, err, c.watchdog)
		}
	}
	nobody := func(string) (string, bool) { return "", false }
	if n, err := NewNotifier(nobody); n != nil || err != nil {
		t.Errorf("without a manager: %v, %v; want neither a notifier nor an error", n, err)
	}
	for _, wrong := range []string{"relative", "/nowhere/at/all"} {
		if _, err := NewNotifier(func(string) (string, bool) { return wrong, true }); err == nil {
			t.Errorf("%s was accepted", wrong)
		}
	}
	var none *Notifier // does nothing, and never fails
	none.Starting("x", nil)()
	none.Stopping("x")
	if w := none.Announcing(io.Discard, nil); w != io.Discard {
		t.Errorf("a nil notifier returns the writer %v, want its argument", w)
	}
}

func TestInherited(t *testing.T) {
	env := func(pid, fds string) func(string) (string, bool) {
		return func(name string) (string, bool) {
			v := map[string]string{"LISTEN_PID": pid, "LISTEN_FDS": fds}[name]
			return v, v != ""
		}
	}
	own := fmt.Sprint(os.Getpid())
	for _, c := range [][2]string{{"", ""}, {"1", "1"}, {"", "1"}, {own, ""}} {
		if ln, err := Inherited(env(c[0], c[1])); ln != nil || err != nil {
			t.Errorf("with LISTEN_PID and LISTEN_FDS %q: %v, %v; want neither a listener nor an error", c, ln, err)
		}
	}
	for _, fds := range []string{"0", "2", "x"} {
		if ln, err := Inherited(env(own, fds)); ln != nil || !IsUsage(err) {
			t.Errorf("%s sockets: %v, %v; want a usage error", fds, ln, err)
		}
	}
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer packets.Close()
	f, err := packets.(*net.UDPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd, err := syscall.Dup(int(f.Fd())) // listenerOf closes it
	if err != nil {
		t.Fatal(err)
	}
	if ln, err := listenerOf(uintptr(fd)); ln != nil || err == nil {
		t.Errorf("a datagram socket: %v, %v; want an error", ln, err)
	}
}
