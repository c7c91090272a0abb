package httpserver

import (
	"cmp"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// DefaultMaxConnections is the default maximum number of open connections of a
	// daemon. An idle one costs about 14 KiB.
	DefaultMaxConnections = 16_384
	// keptFiles is the number of file descriptors that connections never use, if the
	// limit on open files is at least twice that. If the limit is lower, connections use
	// at most half of it. The log needs the others, and a log that can't open a file
	// can't continue.
	keptFiles = 100
)

// connections is a listener that bounds the number of open connections of a daemon.
// At the bound, a new connection replaces idle ones. A connection is idle if it has not
// sent a complete header yet, or has no request in progress. The client with the most
// idle connections loses its own first, starting with the longest idle, so one client
// can't keep the others out. If no connection is idle, the new one waits.
type connections struct {
	net.Listener
	max     int
	log     *slog.Logger
	dropped atomic.Uint64 // connections closed to make room
	waiting atomic.Bool   // Accept waits for room
	room    chan struct{} // wakes Accept; has at most one token
	closed  chan struct{}
	once    sync.Once // guards the closing of closed

	unread    time.Duration // maximum time for which the kernel keeps unread bytes of a closed connection; 0 for the kernel's default
	deadlines deadlines
	headers   atomic.Int64 // bytes that connections hold for headers; see countHeader

	mu   sync.Mutex
	open map[*Tracked]struct{}
}

// newConnections returns a listener with at most max connections, and no more than
// the limit on open files allows.
func newConnections(ln net.Listener, max int, log *slog.Logger) *connections {
	if max == 0 {
		max = DefaultMaxConnections
	}
	if most := connectionsFor(openFiles()); most < max {
		log.Info("the limit on open files allows fewer connections than -max-connections", "connections", most, "max_connections", max)
		max = most
	}
	s := &connections{Listener: ln, max: max, log: log, room: make(chan struct{}, 1), closed: make(chan struct{}), open: map[*Tracked]struct{}{}}
	s.deadlines.init(s.sweep)
	return s
}

// openFiles returns the limit on open files of this process.
func openFiles() uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 1024
	}
	return uint64(l.Cur)
}

// connectionsFor returns the number of connections that a limit on open files
// allows.
func connectionsFor(files uint64) int {
	return int(min(max(files-min(files, keptFiles), files/2, 1), 1<<30))
}

// A Tracked is a connection that a listener of type connections counts.
type Tracked struct {
	writeCloser
	home   *connections
	client netip.Prefix // its address, or IPv6 network; zero on a unix socket
	idle   atomic.Int64 // idle since this time, as deadlines are stored; 0 while a request is in progress

	read, write deadline
	unwatched   atomic.Bool // the next Read returns nothing; see Unwatch
	gathered    gathered

	header headerSize   // size of the current header so far; only reads and notice use it
	last   headerSize   // size of the part of the header in the last read
	held   atomic.Int64 // bytes of the header that count in home.headers
	since  atomic.Int64 // when the header began to count, as deadlines are stored
}

// A writeCloser is a connection that can close its writing half and still read:
// net/http does so when it rejects a body.
type writeCloser interface {
	net.Conn
	CloseWrite() error
}

// trackedOf returns the tracked connection in c, even below TLS, or nil if there is
// none.
func trackedOf(c net.Conn) *Tracked {
	if over, ok := c.(*tls.Conn); ok {
		c = over.NetConn()
	}
	t, _ := c.(*Tracked)
	return t
}

// clientOf returns the client at an address. For IPv6 it is a network, because an
// IPv6 client has a whole network of addresses.
func clientOf(addr net.Addr) netip.Prefix {
	at, ok := addr.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := at.AddrPort().Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	client, _ := ip.Prefix(bits)
	return client
}

// A passingError is a temporary error of Accept, after which net/http retries.
type passingError struct{ error }

func (passingError) Timeout() bool   { return false }
func (passingError) Temporary() bool { return true }

// Accept returns the next connection. Only the error of a closed listener ends
// serving. Any other error concerns one connection, or is a temporary shortage.
func (s *connections) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if errors.Is(err, net.ErrClosed) {
		return nil, err
	}
	if err != nil {
		if isFilesShort(err) {
			s.log.Warn("no file descriptor for a new connection: idle ones are closed", "error", err)
			s.mu.Lock()
			s.makeRoom()
			s.mu.Unlock()
		}
		return nil, passingError{err}
	}
	t := &Tracked{writeCloser: c.(writeCloser), home: s, client: clientOf(c.RemoteAddr())}
	t.idle.Store(s.deadlines.now())
	t.read.at.Store(never)
	t.write.at.Store(never)
	t.write.waits.Store(1) // writes are not counted: their deadline hardly ever expires
	if !s.enter(t) {
		c.Close()
		return nil, net.ErrClosed
	}
	return t, nil
}

// isFilesShort reports whether err is a shortage of file descriptors, which is
// temporary.
func isFilesShort(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// enter counts a connection as soon as there is room for it. It returns false if
// the listener is closed before that.
func (s *connections) enter(t *Tracked) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.waiting.Store(false)
	for len(s.open) >= s.max {
		s.waiting.Store(true) // set before looking for idle ones, so that those that become idle later wake Accept
		if s.makeRoom() {
			continue
		}
		s.mu.Unlock()
		select {
		case <-s.room:
			s.mu.Lock()
		case <-s.closed:
			s.mu.Lock()
			return false
		}
	}
	s.open[t] = struct{}{}
	return true
}

// makeRoom closes the longest idle connections of the client that has the most idle
// ones. It may close several at once, because searching all connections is slow. It
// returns false if no connection is idle. The caller holds mu.
func (s *connections) makeRoom() bool {
	return s.closeLongest(int64(s.max/64+1), func(_ *Tracked, idle int64) (weight, since int64) {
		return min(idle, 1), idle
	})
}

// closeLongest closes connections of the client whose connections weigh most, until
// those closed weigh enough. It begins with the connections that have the earliest value
// of since. weigh is passed the time at which a connection became idle, or 0 if it is not
// idle. A connection that weighs nothing stays open. closeLongest returns false if none
// was closed. The caller holds mu.
func (s *connections) closeLongest(enough int64, weigh func(t *Tracked, idle int64) (weight, since int64)) bool {
	type member struct {
		*Tracked
		idle, weight, since int64
	}
	type group struct {
		members []member
		sum     int64
	}
	groups := map[netip.Prefix]group{}
	var worst group
	for t := range s.open {
		m := member{Tracked: t, idle: t.idle.Load()}
		if m.weight, m.since = weigh(t, m.idle); m.weight > 0 {
			g := groups[t.client]
			g = group{append(g.members, m), g.sum + m.weight}
			groups[t.client] = g
			if g.sum > worst.sum {
				worst = g
			}
		}
	}
	slices.SortFunc(worst.members, func(a, b member) int { return cmp.Compare(a.since, b.since) })
	closed := false
	for _, m := range worst.members {
		if enough <= 0 {
			break
		}
		if !m.Tracked.idle.CompareAndSwap(m.idle, 0) {
			continue // its request has begun or ended since
		}
		enough -= m.weight
		m.writeCloser.Close()
		delete(s.open, m.Tracked)
		m.freeHeader()
		s.dropped.Add(1)
		closed = true
	}
	return closed
}

// wake makes Accept look for room again.
func (s *connections) wake() {
	if !s.waiting.Load() {
		return
	}
	select {
	case s.room <- struct{}{}:
	default:
	}
}

// Close closes the listener.
func (s *connections) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.Listener.Close()
}

// count returns the number of open connections.
func (s *connections) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// Close closes the connection and makes room for another.
func (t *Tracked) Close() error {
	if t.home.unread > 0 {
		t.GiveUpAfter(t.home.unread) // otherwise the kernel may keep unread bytes for minutes; a client that does not read hardly notices the difference
	}
	err := t.writeCloser.Close()
	t.freeHeader()
	t.home.mu.Lock()
	delete(t.home.open, t)
	t.home.mu.Unlock()
	t.home.wake()
	return err
}

// notice is the ConnState function of the http.Server.
func notice(c net.Conn, state http.ConnState) {
	t := trackedOf(c)
	if t == nil {
		return
	}
	switch state {
	case http.StateActive:
		t.idle.Store(0)
		if _, ok := c.(*tls.Conn); ok {
			t.headerRead()
		}
	case http.StateIdle:
		t.watchAgain()
		t.header = headerSize{}
		t.freeHeader()
		t.idle.Store(t.home.deadlines.now())
		t.home.wake()
	}
}

type connKey struct{}

// ConnectionOf returns the connection of a request, or nil if it is not tracked.
func ConnectionOf(r *http.Request) *Tracked {
	t, _ := r.Context().Value(connKey{}).(*Tracked)
	return t
}

// Client returns a name for the client of a request: that of its credential, or its
// address if it has none.
func (x *Exchange) Client() string {
	if x.Who != nil {
		return "credential " + x.Who.Name
	}
	if c := ConnectionOf(x.R); c != nil {
		return c.client.String()
	}
	host, _, _ := net.SplitHostPort(x.R.RemoteAddr)
	return host
}
