package httpserver

import (
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Notifier reports the state of the daemon to the service manager, using the
// protocol of sd_notify(3):
//
//	starting: STATUS with progress, and EXTEND_TIMEOUT_USEC while it advances
//	serving:  READY=1, then WATCHDOG=1 while the daemon responds
//	ending:   STOPPING=1
//
// A nil Notifier does nothing.
type Notifier struct {
	conn     net.Conn
	watchdog time.Duration // maximum time between signs of life; 0 if the manager expects none
	tick     time.Duration // time between two reports of progress: startTick
	once     sync.Once     // guards the closing of done
	done     chan struct{}
}

// Progress is reported every startTick. If there has been any, the report
// also asks for startMore more time.
const (
	startTick = time.Second
	startMore = 30 * time.Second
	startLoad = 5 * time.Minute // for the steps before the replay: recovery, and loading a checkpoint
	stopMore  = 30 * time.Second
)

// NewNotifier returns the notifier described by the environment (NOTIFY_SOCKET,
// WATCHDOG_USEC, WATCHDOG_PID), or nil if there is none. lookup is os.LookupEnv, or
// a test's replacement.
func NewNotifier(lookup func(string) (string, bool)) (*Notifier, error) {
	path, ok := lookup("NOTIFY_SOCKET")
	if !ok || path == "" {
		return nil, nil
	}
	if path[0] != '/' && path[0] != '@' {
		return nil, usagef("NOTIFY_SOCKET is %q: it must be the path of a unix socket, or @ and an abstract name", path)
	}
	conn, err := net.Dial("unixgram", path) // net handles a leading @
	if err != nil {
		return nil, fmt.Errorf("reaching the service manager: %w", err)
	}
	return &Notifier{conn: conn, watchdog: watchdogTime(lookup), tick: startTick, done: make(chan struct{})}, nil
}

// watchdogTime returns how long the manager waits for a sign of life from this
// process. It returns 0 if the manager does not wait, or waits longer than a Duration
// can hold.
func watchdogTime(lookup func(string) (string, bool)) time.Duration {
	if pid, ok := lookup("WATCHDOG_PID"); ok && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	text, _ := lookup("WATCHDOG_USEC")
	us, err := strconv.ParseInt(text, 10, 64)
	if err != nil || us <= 0 || us > math.MaxInt64/int64(time.Microsecond) {
		return 0
	}
	return time.Duration(us) * time.Microsecond
}

// tell sends assignments. It ignores errors, since the manager may not be
// listening.
func (n *Notifier) tell(lines ...string) {
	if n != nil {
		n.conn.Write([]byte(strings.Join(lines, "\n")))
	}
}

func extend(d time.Duration) string {
	return "EXTEND_TIMEOUT_USEC=" + strconv.FormatInt(d.Microseconds(), 10)
}

// Starting reports the progress of the start once a second, until end is called.
// end may be called more than once. As long as the count done advances, the reports ask
// the manager for more time, so that it ends only a start that hangs.
func (n *Notifier) Starting(what string, at func() (done, of uint64)) (end func()) {
	if n == nil {
		return func() {}
	}
	n.tell("STATUS="+what, extend(startLoad))
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(n.tick)
		defer tick.Stop()
		for last := uint64(0); ; {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			lines := make([]string, 0, 2)
			done, of := at()
			lines = append(lines, progress(what, done, of))
			if done != last {
				last = done
				lines = append(lines, extend(startMore))
			}
			n.tell(lines...)
		}
	}()
	return sync.OnceFunc(func() { close(stop); <-ended })
}

func progress(what string, done, of uint64) string {
	if of == 0 {
		return fmt.Sprintf("STATUS=%s: commit %d", what, done)
	}
	return fmt.Sprintf("STATUS=%s: commit %d of %d (%d %%)", what, done, of, done*100/of)
}

// Announcing returns a writer that passes the ready line on to w and then sends
// READY. It calls alive before each sign of life. alive must return only when the
// daemon has responded.
func (n *Notifier) Announcing(w io.Writer, alive func()) io.Writer {
	if n == nil {
		return w
	}
	return &readyWriter{w, n, alive}
}

type readyWriter struct {
	io.Writer
	n     *Notifier
	alive func()
}

func (r *readyWriter) Write(p []byte) (int, error) {
	written, err := r.Writer.Write(p)
	r.n.tell("READY=1", "STATUS="+strings.TrimSpace(string(p)))
	if r.n.watchdog > 0 {
		go r.n.live(r.alive)
	}
	return written, err
}

// live sends signs of life, twice as often as the manager expects them, while the
// daemon responds.
func (n *Notifier) live(alive func()) {
	tick := time.NewTicker(n.watchdog / 2)
	defer tick.Stop()
	for {
		alive()
		n.tell("WATCHDOG=1")
		select {
		case <-n.done:
			return
		case <-tick.C:
		}
	}
}

// Stopping reports that the daemon is stopping, and why. It also ends the signs of
// life.
func (n *Notifier) Stopping(why string) {
	if n == nil {
		return
	}
	n.once.Do(func() {
		close(n.done)
		n.tell("STOPPING=1", "STATUS="+why, extend(stopMore))
	})
}
