package httpserver

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// certificates are the certificates of a daemon that serves TLS. At most once per
// filesEvery, a handshake checks whether the files have changed and, if so, reloads
// them. If the new files are invalid, an error is logged, and the old certificates stay
// in use.
type certificates struct {
	files  []string // certificate, key, and the roots for clients if any
	log    *slog.Logger
	config atomic.Pointer[tls.Config]

	mu     sync.Mutex // held while checking the files
	looked time.Time
	stamps []fileStamp
}

func newCertificates(a Access, log *slog.Logger) (*certificates, error) {
	c := &certificates{files: []string{a.TLSCert, a.TLSKey}, log: log}
	if a.ClientCA != "" {
		c.files = append(c.files, a.ClientCA)
	}
	c.stamps = stampsOf(c.files)
	config, err := c.load()
	c.config.Store(config)
	return c, err
}

// load reads the files.
func (c *certificates) load() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(c.files[0], c.files[1])
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}, Certificates: []tls.Certificate{pair}}
	if len(c.files) < 3 {
		return config, nil
	}
	roots, err := os.ReadFile(c.files[2])
	if err != nil {
		return nil, err
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(roots) {
		return nil, fmt.Errorf("%s contains no PEM certificate", c.files[2])
	}
	// Certificates are optional, because a client may have a token instead.
	config.ClientAuth = tls.VerifyClientCertIfGiven
	config.SessionTicketsDisabled = true // every connection presents its certificate again
	return config, nil
}

// listening returns the TLS configuration of a listener. Each handshake uses the
// current certificates.
func (c *certificates) listening() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c.refresh(false)
			return c.config.Load(), nil
		}}
}

// refresh reloads the files if they have changed, or in any case if now is set.
// Concurrent handshakes don't wait for it.
func (c *certificates) refresh(now bool) {
	if now {
		c.mu.Lock()
	} else if !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	if !now && time.Since(c.looked) < filesEvery {
		return
	}
	c.looked = time.Now()
	stamps := stampsOf(c.files)
	if !now && slices.EqualFunc(stamps, c.stamps, fileStamp.same) {
		return
	}
	c.stamps = stamps
	config, err := c.load()
	if err != nil {
		c.log.Error("the new certificates can't be used; the old ones stay in use", "error", err)
		return
	}
	c.config.Store(config)
	c.log.Info("certificates reloaded", "tls_cert", c.files[0])
}
