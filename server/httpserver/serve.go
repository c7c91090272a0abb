package httpserver

import (
	"assetledger/server/version"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Timeouts limit the time that one client may take. 0 means no limit, with three
// exceptions: Header and Idle then take the value of Read, and a Shutdown of 0 ends
// requests in progress at once.
type Timeouts struct {
	Header   time.Duration // maximum time to send the header of a request
	Read     time.Duration // maximum time to send a whole request
	Write    time.Duration // maximum time to read the response, from the end of the request's header
	Idle     time.Duration // maximum time between requests
	Shutdown time.Duration // maximum time for requests in progress when the daemon stops
}

// DefaultTimeouts are the default timeouts. Write exceeds the longest wait for
// freshness.
var DefaultTimeouts = Timeouts{Header: 5 * time.Second, Read: 30 * time.Second, Write: 90 * time.Second,
	Idle: 2 * time.Minute, Shutdown: 8 * time.Second}

// maxHeader is the maximum size of a request's header, in bytes.
const maxHeader = 64 << 10

// NewServer returns an http.Server with the given timeouts and maxHeader.
func NewServer(h http.Handler, t Timeouts, log *slog.Logger) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Server{
		Protocols: &protocols,
		Handler:   h, ReadHeaderTimeout: t.Header, ReadTimeout: t.Read, WriteTimeout: t.Write, IdleTimeout: t.Idle,
		MaxHeaderBytes: maxHeader, DisableGeneralOptionsHandler: true,
		ErrorLog:  slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ConnState: notice,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, trackedOf(c))
		},
	}
}

// lastWords is how long a failed daemon keeps responding before it closes its
// connections. So a request in progress gets the reason, and whether its outcome is
// known, instead of losing its connection.
const lastWords = 200 * time.Millisecond

// Serve writes the ready line, with the URL, to the writer ready, and serves until ctx is
// done or an error arrives on the channel failed. Then it calls drain, which must end
// everything that waits, such as SSE streams and waits for freshness. From then on, it
// accepts no new connections, and requests in progress have at most t.Shutdown to finish.
// If the listener fails, Serve returns the error at once.
func Serve(ctx context.Context, ln *Door, h http.Handler, t Timeouts, ready io.Writer, name string,
	log *slog.Logger, failed <-chan error, drain func()) error {
	srv := NewServer(h, t, log)
	ln.bound.unread = t.Write
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	fmt.Fprintf(ready, "%s %s ready on %s\n", name, version.Build(), ln.url)
	var cause error
	select {
	case <-ctx.Done():
		log.Info("stopping on request")
	case cause = <-failed:
		log.Error("stopping", "error", cause)
		time.Sleep(lastWords)
	case err := <-served:
		return err
	}
	drain()
	grace, cancel := context.WithTimeout(context.Background(), t.Shutdown)
	defer cancel()
	if err := srv.Shutdown(grace); errors.Is(err, context.DeadlineExceeded) {
		log.Warn("some clients did not read their responses in time; their connections are closed")
		srv.Close()
	}
	return cause
}
