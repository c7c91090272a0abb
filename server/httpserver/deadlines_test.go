package httpserver

import (
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A pipeConn is one end of an in-memory connection. In a synctest bubble, its deadlines
// follow the clock of the bubble.
type pipeConn struct{ net.Conn }

func (pipeConn) RemoteAddr() net.Addr { return &net.UnixAddr{} }
func (pipeConn) CloseWrite() error    { return nil }

// pipe returns a tracked connection, and its client's end.
func pipe(t *testing.T, s *connections, door *fakeDoor) (ours *Tracked, client net.Conn) {
	t.Helper()
	client, server := net.Pipe()
	t.Cleanup(func() { client.Close() })
	door.conns <- pipeConn{server}
	c, err := s.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return c.(*Tracked), client
}

// TestDeadlines checks that a wait ends when the most recently set deadline passes, and
// only then.
func TestDeadlines(t *testing.T) {
	const none = time.Duration(-1)
	for name, test := range map[string]struct {
		before []time.Duration // set one after the other, before the wait; none: no deadline; 0: in the past
		during map[time.Duration]time.Duration
		ends   time.Duration // none: not within an hour
	}{
		"none":                     {ends: none},
		"one":                      {before: []time.Duration{time.Second}, ends: time.Second},
		"the last counts":          {before: []time.Duration{time.Second, 2 * time.Second}, ends: 2 * time.Second},
		"an earlier one":           {before: []time.Duration{time.Minute, time.Second}, ends: time.Second},
		"taken back":               {before: []time.Duration{time.Second, none}, ends: none},
		"past":                     {before: []time.Duration{0}, ends: 0},
		"past, then later":         {before: []time.Duration{0, time.Second}, ends: time.Second},
		"past, then none":          {before: []time.Duration{0, none}, ends: none},
		"made later while waiting": {before: []time.Duration{time.Second}, during: map[time.Duration]time.Duration{900 * time.Millisecond: time.Minute}, ends: time.Minute},
		"made earlier":             {before: []time.Duration{time.Hour}, during: map[time.Duration]time.Duration{time.Second: time.Minute}, ends: time.Minute},
		"set while waiting":        {during: map[time.Duration]time.Duration{time.Second: time.Minute}, ends: time.Minute},
		"ended while waiting":      {before: []time.Duration{time.Hour}, during: map[time.Duration]time.Duration{time.Second: 0}, ends: time.Second},
	} {
		for half, wait := range map[string]struct {
			set   func(*Tracked, time.Time) error
			waits func(*Tracked) error
		}{
			"read":       {(*Tracked).SetReadDeadline, func(c *Tracked) error { _, err := c.Read(make([]byte, 1)); return err }},
			"write":      {(*Tracked).SetWriteDeadline, func(c *Tracked) error { _, err := c.Write(make([]byte, 1)); return err }},
			"both, read": {(*Tracked).SetDeadline, func(c *Tracked) error { _, err := c.Read(make([]byte, 1)); return err }},
		} {
			t.Run(name+", "+half, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, door, _ := boundOf(t, 10)
					c, client := pipe(t, s, door)
					start := time.Now()
					set := func(after time.Duration) {
						when := start.Add(after)
						switch after {
						case none:
							when = time.Time{}
						case 0:
							when = LongAgo
						}
						if err := wait.set(c, when); err != nil {
							t.Error(err)
						}
					}
					for _, after := range test.before {
						set(after)
					}
					for at, after := range test.during {
						time.AfterFunc(at, func() { set(after) })
					}
					late := time.AfterFunc(time.Hour, func() { client.Close() })
					err := wait.waits(c)
					late.Stop()
					took := time.Since(start)
					if test.ends == none && (errors.Is(err, os.ErrDeadlineExceeded) || took != time.Hour) {
						t.Errorf("ended after %v: %v, want no deadline within an hour", took, err)
					}
					if test.ends != none && (!errors.Is(err, os.ErrDeadlineExceeded) || took != test.ends) {
						t.Errorf("ended after %v, want %v: %v", took, test.ends, err)
					}
				})
			})
		}
	}
}

// A pollerConn counts the deadlines that its poller is given.
type pollerConn struct {
	pipeConn
	told *int
}

func (c pollerConn) SetReadDeadline(t time.Time) error {
	*c.told++
	return c.pipeConn.SetReadDeadline(t)
}

// TestExpiredBeforeWait checks that a read ends at once, without the poller, if it begins
// after its deadline. The poller ends only a read that began before its deadline.
func TestExpiredBeforeWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, door, _ := boundOf(t, 10)
		client, server := net.Pipe()
		defer client.Close()
		told := 0
		door.conns <- pollerConn{pipeConn{server}, &told}
		c, err := s.Accept()
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // as net/http does for each request
			c.SetReadDeadline(LongAgo)
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("a read after its deadline: %v, want an expired deadline", err)
			}
			c.SetReadDeadline(time.Time{})
		}
		if told != 0 {
			t.Errorf("the poller was told %d times of reads that had not begun", told)
		}
		ended := make(chan error)
		go func() {
			_, err := c.Read(make([]byte, 1))
			ended <- err
		}()
		synctest.Wait()
		c.SetReadDeadline(LongAgo)
		if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) || told != 1 {
			t.Errorf("%v, and the poller was told %d times; want an expired deadline and one call", err, told)
		}
		c.SetReadDeadline(time.Time{})
		go client.Write([]byte("a"))
		if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil || told != 2 {
			t.Errorf("%d bytes, %v, and the poller was told %d times; want 1 byte and two calls", n, err, told)
		}
	})
}

// TestDeadlineTurns checks that, however a deadline and reads alternate, the deadline
// ends all reads that it must end, and no later one.
func TestDeadlineTurns(t *testing.T) {
	s, door, _ := boundOf(t, 10)
	c, client := pipe(t, s, door)
	go func() {
		for {
			if _, err := client.Write([]byte("a")); err != nil {
				return
			}
		}
	}()
	b := make([]byte, 1)
	for range 2_000 {
		ended := make(chan struct{})
		go func() { // net/http's read in the background
			defer close(ended)
			if _, err := c.Read(make([]byte, 1)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error(err)
			}
		}()
		c.SetReadDeadline(LongAgo)
		<-ended
		c.SetReadDeadline(time.Time{})
		if _, err := c.Read(b); err != nil {
			t.Fatal(err)
		}
	}
	c.Close()
}

// TestSweepsAreFew checks that many deadlines, each a little after the previous one,
// cause only a few sweeps of all connections, and that each deadline is noticed soon
// after it has passed.
func TestSweepsAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, door, _ := boundOf(t, 1000)
		sweeps := 0
		s.deadlines.init(func() { sweeps++; s.sweep() })
		start := time.Now()
		var all sync.WaitGroup
		for i := range 500 {
			c, _ := pipe(t, s, door)
			after := time.Second + time.Duration(i)*time.Millisecond
			c.SetReadDeadline(start.Add(after))
			all.Go(func() {
				c.Read(make([]byte, 1))
				if late := time.Since(start) - after; late < 0 || late > time.Duration(sweepEvery) {
					t.Errorf("a deadline was noticed %v late, want at most %v", late, time.Duration(sweepEvery))
				}
			})
		}
		all.Wait()
		if most := int(500*time.Millisecond/time.Duration(sweepEvery)) + 2; sweeps > most {
			t.Errorf("%d sweeps, want at most %d", sweeps, most)
		}
	})
}

// A toldConn remembers the last read deadline that it was given.
type toldConn struct {
	fakeConn
	told time.Time
}

func (c *toldConn) SetReadDeadline(t time.Time) error { c.told = t; return nil }

// TestDeadlineBesideSweep checks that a deadline has no effect after it was cleared,
// even if at the same moment a sweep found that it had passed.
func TestDeadlineBesideSweep(t *testing.T) {
	s, door, _ := boundOf(t, 1)
	raw := &toldConn{}
	door.conns <- raw
	c, err := s.Accept()
	if err != nil {
		t.Fatal(err)
	}
	var sweeping sync.WaitGroup
	for range 2000 {
		c.SetReadDeadline(s.deadlines.start.Add(1)) // has passed, but is stored until a sweep finds it
		sweeping.Go(s.sweep)
		c.SetReadDeadline(time.Time{})
		sweeping.Wait()
		if !raw.told.IsZero() {
			t.Fatal("the connection has a deadline that was cleared")
		}
	}
}
