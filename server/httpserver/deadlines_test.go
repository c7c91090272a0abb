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

// A pipeConn is an end of a connection in memory, with the deadlines of its bubble.
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

// TestDeadlines: a wait ends when its last deadline passes, and only then.
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
						t.Errorf("ended after %v: %v", took, err)
					}
					if test.ends != none && (!errors.Is(err, os.ErrDeadlineExceeded) || took != test.ends) {
						t.Errorf("ended after %v, want %v: %v", took, test.ends, err)
					}
				})
			})
		}
	}
}

// TestSweepsAreFew: many deadlines, each a little after another, do not cause as
// many looks at all connections, and none passes long unnoticed.
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
					t.Errorf("a deadline passed %v late", late)
				}
			})
		}
		all.Wait()
		if most := int(500*time.Millisecond/time.Duration(sweepEvery)) + 2; sweeps > most {
			t.Errorf("%d sweeps, at most %d", sweeps, most)
		}
	})
}

// A toldConn remembers the last read deadline that it was told.
type toldConn struct {
	fakeConn
	told time.Time
}

func (c *toldConn) SetReadDeadline(t time.Time) error { c.told = t; return nil }

// TestDeadlineBesideSweep: a deadline that is taken back while a sweep finds it
// passed does not stay passed.
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
		c.SetReadDeadline(s.deadlines.start.Add(1)) // passed, but noted
		sweeping.Go(s.sweep)
		c.SetReadDeadline(time.Time{})
		sweeping.Wait()
		if !raw.told.IsZero() {
			t.Fatal("the connection has a deadline that was taken back")
		}
	}
}
