package ctl

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// connecting is how ledgerctl reaches the daemons, and as whom.
type connecting struct {
	ca        string // file of roots
	cert, key string // files of a client certificate and its key
	tokenFile string
	token     string // of the environment, or read from the file
}

// envToken is the environment variable that a token may come from. There is
// no flag for it: everyone on a machine can see the flags of a program.
const envToken = "LEDGER_TOKEN"

// maxTokenFile bounds a file with a token, in bytes.
const maxTokenFile = 4096

// load reads the token, and judges what goes together.
func (o *connecting) load(env func(string) (string, bool)) error {
	if (o.cert == "") != (o.key == "") {
		return usagef("-cert and -cert-key go together: the client certificate, and its private key")
	}
	if o.tokenFile == "" {
		o.token, _ = env(envToken)
		return checkToken(o.token, "in "+envToken)
	}
	f, err := os.Open(o.tokenFile)
	if err != nil {
		return fmt.Errorf("-token-file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	if err != nil {
		return fmt.Errorf("-token-file: %w", err)
	}
	o.token = strings.TrimSpace(string(text))
	if o.token == "" {
		return usagef("-token-file %s is empty", o.tokenFile)
	}
	return checkToken(o.token, "of "+o.tokenFile)
}

// checkToken refuses what no header can carry, without showing it.
func checkToken(token, where string) error {
	strange := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(token) >= maxTokenFile || strings.ContainsFunc(token, strange) {
		return usagef("the token %s is none: one is a word of printable ASCII", where)
	}
	return nil
}

// client makes the client for one base address, which keeps some idle connections.
func (o *connecting) client(base string, idle int) (*http.Client, error) {
	transport := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConnsPerHost:    idle,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
	if path, ok := strings.CutPrefix(base, "unix:"); ok {
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
	}
	if strings.HasPrefix(base, "https:") {
		config, err := o.tls()
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = config
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

func (o *connecting) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	if o.ca != "" {
		text, err := os.ReadFile(o.ca)
		if err != nil {
			return nil, fmt.Errorf("-ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, usagef("-ca %s has no certificate in PEM", o.ca)
		}
	}
	if o.cert != "" {
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			return nil, fmt.Errorf("-cert and -cert-key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// overHTTP is the base address as HTTP writes it.
func overHTTP(base string) string {
	if strings.HasPrefix(base, "unix:") {
		return "http://localhost"
	}
	return base
}

// distrust says in words why TLS came to nothing, "" if it was not that.
func distrust(err error) string {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var alert tls.AlertError
	switch {
	case errors.As(err, &unknown):
		return "its certificate is not signed by anyone trusted here: -ca names the file of who signed it"
	case errors.As(err, &host), errors.As(err, &invalid):
		return "its certificate can't be trusted: " + err.Error()
	case errors.As(err, &alert):
		return "it does not accept this client's certificate (" + alert.Error() + "): see -cert and -cert-key"
	}
	return ""
}
