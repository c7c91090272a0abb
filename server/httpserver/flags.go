package httpserver

import (
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// Flags defines the flags of the timeouts. The current values are the defaults.
func (t *Timeouts) Flags(set *flag.FlagSet) {
	set.DurationVar(&t.Header, "header-timeout", t.Header, "maximum `TIME` to read a request header")
	set.DurationVar(&t.Read, "read-timeout", t.Read, "maximum `TIME` to read a request; in a stream, between two reads")
	set.DurationVar(&t.Write, "write-timeout", t.Write, "maximum `TIME` a client may take to read a response; in a stream, for each write")
	set.DurationVar(&t.Idle, "idle-timeout", t.Idle, "maximum `TIME` a connection may be idle between requests")
	set.DurationVar(&t.Shutdown, "shutdown-timeout", t.Shutdown, "maximum `TIME` to finish requests in progress on shutdown")
}

// Check returns an error for the first timeout that is negative, which net/http
// would treat as unlimited.
func (t *Timeouts) Check() error {
	for _, limit := range []struct {
		name  string
		value time.Duration
	}{{"header-timeout", t.Header}, {"read-timeout", t.Read}, {"write-timeout", t.Write}, {"idle-timeout", t.Idle}, {"shutdown-timeout", t.Shutdown}} {
		if limit.value < 0 {
			return usagef("-%s can't be negative, but is %v", limit.name, limit.value)
		}
	}
	return nil
}

// Flags defines the flags of a daemon's access control.
func (a *Access) Flags(set *flag.FlagSet) {
	set.StringVar(&a.AuthFile, "auth-file", a.AuthFile, "`FILE` that lists clients and their scopes, see docs/security.md; reloaded when it changes; "+
		"without it, all requests from this machine are allowed, for example /etc/ledger/auth")
	set.StringVar(&a.TLSCert, "tls-cert", a.TLSCert, "`FILE` with the TLS 1.3 server certificate, in PEM; reloaded when it changes, for example /etc/ledger/tls.crt")
	set.StringVar(&a.TLSKey, "tls-key", a.TLSKey, "`FILE` with the private key of -tls-cert, in PEM, for example /etc/ledger/tls.key")
	set.StringVar(&a.ClientCA, "client-ca", a.ClientCA, "`FILE` with the root certificates for client certificates, in PEM; the auth file lists what each client may do, for example /etc/ledger/clients.crt")
	a.SocketMode = 0o600
	set.Var((*modeFlag)(&a.SocketMode), "socket-mode", "permissions, in `OCTAL`, of the unix socket that -listen names")
	a.MaxConnections = DefaultMaxConnections
	set.Var((*countFlag)(&a.MaxConnections), "max-connections", "maximum `NUMBER` of open connections; lowered to what the limit on open files allows")
	set.BoolVar(&a.Insecure, "insecure", a.Insecure, "accept unauthenticated requests from other machines")
}

// modeFlag is a flag.Value for the permissions of a file.
type modeFlag fs.FileMode

// String returns the mode in octal.
func (m *modeFlag) String() string { return fmt.Sprintf("%04o", uint32(*m)) }

// Set parses a mode in octal.
func (m *modeFlag) Set(s string) error {
	v, err := strconv.ParseUint(s, 8, 32)
	if err != nil || v > 0o777 {
		return fmt.Errorf("it must be an octal number from 0000 to 0777")
	}
	*m = modeFlag(v)
	return nil
}

// countFlag is a flag.Value for a number of at least 1.
type countFlag int

// String returns the number in decimal.
func (n *countFlag) String() string { return strconv.Itoa(int(*n)) }

// Set parses a number.
func (n *countFlag) Set(s string) error {
	v, err := strconv.ParseInt(s, 10, 32)
	if err != nil || v < 1 {
		return fmt.Errorf("it must be an integer from 1 to %d", math.MaxInt32)
	}
	*n = countFlag(v)
	return nil
}

// Hangups returns a channel that receives every SIGHUP from now on. Without it,
// SIGHUP ends the process.
func Hangups() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c
}
