package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"
)

// Access configures which clients may use a daemon, and how they reach it. The zero
// value serves every client on this machine in plain text.
type Access struct {
	AuthFile   string      // lists the clients and their scopes; "" lets every client do everything
	TLSCert    string      // PEM file with the certificate and its chain; "" for plain text
	TLSKey     string      // PEM file with the private key of TLSCert
	ClientCA   string      // PEM file with the root certificates for client certificates; "" to request none
	SocketMode fs.FileMode // permissions of a Unix socket; 0 means 0600
	Insecure   bool        // accept other machines even without an auth file
	// MaxConnections is the maximum number of open connections; 0 means
	// DefaultMaxConnections.
	MaxConnections int
	// Reload receives requests to read the files again at once. Without them,
	// changes are noticed after a moment.
	Reload <-chan os.Signal
	// Inherited is a listener that was opened for the daemon. It replaces the
	// address to listen on; see the function Inherited.
	Inherited net.Listener
}

// A UsageError reports an invalid setting. Its message says which one.
type UsageError struct{ words string }

func (e *UsageError) Error() string { return e.words }

func usagef(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// socketPath returns the path if the listen address names a Unix socket.
func socketPath(listen string) (path string, ok bool) { return strings.CutPrefix(listen, "unix:") }

// Check returns a *UsageError if the settings are invalid, alone or together with
// the address to listen on.
func (a *Access) Check(listen string) error {
	switch {
	case (a.TLSCert == "") != (a.TLSKey == ""):
		return usagef("-tls-cert and -tls-key must be given together: the certificate, and its private key")
	case a.ClientCA != "" && a.TLSCert == "":
		return usagef("-client-ca needs -tls-cert and -tls-key: client certificates are part of TLS")
	case a.ClientCA != "" && a.AuthFile == "":
		return usagef("-client-ca needs -auth-file, which lists what the holder of each certificate may do")
	case a.SocketMode&^0o777 != 0:
		return usagef("-socket-mode must be permissions from 0000 to 0777, not %#o", a.SocketMode)
	case a.MaxConnections < 0:
		return usagef("-max-connections must be 1 or more, not %d", a.MaxConnections)
	}
	if path, ok := socketPath(listen); ok {
		switch {
		case path == "" || strings.HasPrefix(path, "@"):
			return usagef("-listen unix: needs the path of a file, not %q", path)
		case a.TLSCert != "":
			return usagef("-tls-cert is for network addresses; a unix socket is protected by -socket-mode")
		}
		return nil
	}
	host, port, err := net.SplitHostPort(listen)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return usagef("-listen is host:port or unix:/path: %v", err)
	}
	if a.AuthFile == "" && !a.Insecure && !isLoopback(host) {
		return usagef("-listen %s would let everyone who reaches this address do everything: list the clients in an -auth-file "+
			"(ledgerctl token new creates one), listen on 127.0.0.1 or a unix socket, or accept it with -insecure", listen)
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// An Entrance holds what a daemon needs to accept clients: its access settings, its
// auth file and its certificates. Listen opens the listener.
type Entrance struct {
	access Access
	gate   *Gate         // nil if all clients may do everything
	certs  *certificates // nil for plain text
	log    *slog.Logger
}

// OpenEntrance reads the files. A daemon calls it before it does anything else. All
// its errors are of type *UsageError.
func OpenEntrance(a Access, listen string, log *slog.Logger) (*Entrance, error) {
	if err := a.Check(listen); err != nil {
		return nil, err
	}
	e := &Entrance{access: a, log: log}
	if a.AuthFile != "" {
		gate, err := openGate(a.AuthFile, log)
		if err != nil {
			return nil, usagef("-auth-file: %v", err)
		}
		e.gate = gate
	}
	if a.TLSCert != "" {
		certs, err := newCertificates(a, log)
		if err != nil {
			return nil, usagef("-tls-cert, -tls-key or -client-ca: %v", err)
		}
		e.certs = certs
	}
	if _, unix := socketPath(listen); e.gate != nil && e.certs == nil && !unix {
		if host, _, _ := net.SplitHostPort(listen); !isLoopback(host) {
			log.Warn("tokens and everything else cross the network in plain text: use -tls-cert and -tls-key, or a proxy that terminates TLS", "listen", listen)
		}
	}
	return e, nil
}

// A Door is a listener and its URL, as clients write it.
type Door struct {
	net.Listener
	url   string
	bound *connections
}

// Protect installs the entrance's authentication on the API, and registers the
// metrics of the door's connections.
func (e *Entrance) Protect(a *API, d *Door) {
	a.registry.GaugeFunc(a.prefix+"connections", "Number of open connections.", func() float64 { return float64(d.bound.count()) })
	a.registry.CounterFunc(a.prefix+"connections_dropped_total", "Connections that were closed to make room: idle ones for new connections, or any for the headers of others.",
		func() float64 { return float64(d.bound.dropped.Load()) })
	at, tcp := d.Addr().(*net.TCPAddr)
	a.Gate = e.gate
	a.local = e.gate == nil && !e.access.Insecure && tcp && at.IP.IsLoopback()
}

// Listen starts to listen, and bounds the number of connections.
func (e *Entrance) Listen(addr string) (*Door, error) {
	d, err := e.open(addr)
	if err != nil {
		return nil, err
	}
	d.bound = newConnections(d.Listener, e.access.MaxConnections, e.log)
	d.Listener = d.bound
	if strings.HasPrefix(d.url, "https:") {
		d.Listener = tls.NewListener(d.bound, e.certs.listening())
	}
	return d, nil
}

// open starts to listen, without a bound and without TLS.
func (e *Entrance) open(addr string) (*Door, error) {
	ln := e.access.Inherited
	if ln != nil {
		if at, ok := ln.Addr().(*net.UnixAddr); ok {
			return &Door{Listener: ln, url: "unix:" + at.Name}, nil
		}
	} else if path, ok := socketPath(addr); ok {
		ln, err := listenUnix(path, e.access.SocketMode)
		if err != nil {
			return nil, err
		}
		return &Door{Listener: ln, url: "unix:" + path}, nil
	}
	if ln == nil {
		var err error
		if ln, err = net.Listen("tcp", addr); err != nil {
			return nil, err
		}
	}
	at := ln.Addr().(*net.TCPAddr)
	if e.gate == nil && !e.access.Insecure && !at.IP.IsLoopback() {
		ln.Close() // localhost may resolve to another address, or a socket unit may name one
		if e.access.Inherited != nil {
			addr = "(the inherited socket)"
		}
		return nil, usagef("-listen %s is %s, which other machines can reach: see -auth-file and -insecure", addr, at)
	}
	if e.certs == nil {
		return &Door{Listener: ln, url: "http://" + at.String()}, nil
	}
	return &Door{Listener: ln, url: "https://" + at.String()}, nil
}

// Watch reloads the auth file when it has changed, and all files on request,
// until ctx is done.
func (e *Entrance) Watch(ctx context.Context) {
	if e.access.Reload == nil && e.gate == nil {
		return
	}
	go func() {
		tick := time.NewTicker(filesEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-e.access.Reload:
				e.reload()
			case <-tick.C:
				if e.gate != nil {
					e.gate.refresh(false)
				}
			}
		}
	}()
}

func (e *Entrance) reload() {
	if e.gate != nil {
		e.gate.refresh(true)
	}
	if e.certs != nil {
		e.certs.refresh(true)
	}
	if e.gate == nil && e.certs == nil {
		e.log.Info("asked to reload the files, but there are none: no -auth-file, no -tls-cert")
	}
}

// Usage turns an error in a setting into a *UsageError.
func Usage(err error) error { return usagef("%v", err) }

// IsUsage reports whether err contains a *UsageError.
func IsUsage(err error) bool {
	var usage *UsageError
	return errors.As(err, &usage)
}
