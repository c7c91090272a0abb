// Package httpclient makes HTTP clients for the daemons' addresses: http://,
// https:// with roots and client certificates of one's own, and unix:/path.
package httpclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// A SettingError is a file that can't be used as it was meant. Its words begin
// with the flag.
type SettingError struct{ words string }

// Error begins with the flag.
func (e *SettingError) Error() string { return e.words }

func settingf(format string, args ...any) error { return &SettingError{fmt.Sprintf(format, args...)} }

// AsSetting makes any error of using a setting a *SettingError.
func AsSetting(err error) error {
	if err == nil {
		return nil
	}
	return &SettingError{err.Error()}
}

// A Trust is whom a client believes, and as whom it comes.
type Trust struct {
	Prefix    string // of the flags' names, for messages: "" or "from-"
	CA        string // file of roots in PEM; "": those of the system
	Cert, Key string // files of a client certificate and its key in PEM; "": none
}

// Check reports whether the settings go together.
func (t *Trust) Check() error {
	if (t.Cert == "") != (t.Key == "") {
		return settingf("-%scert and -%scert-key go together: the client certificate, and its private key", t.Prefix, t.Prefix)
	}
	return nil
}

// dialLimit is how long a connection may take to be made: a host that is gone
// answers nothing at all.
const dialLimit = 5 * time.Second

// Transport makes the transport to one base address, which keeps some idle
// connections. It follows no redirects by itself: that is the client's part.
func (t *Trust) Transport(base string, idle int) (*http.Transport, error) {
	transport := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConnsPerHost:    idle,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		DialContext:            (&net.Dialer{Timeout: dialLimit}).DialContext,
	}
	if path, ok := strings.CutPrefix(base, "unix:"); ok {
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
	}
	if strings.HasPrefix(base, "https:") {
		config, err := t.tls()
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = config
	}
	return transport, nil
}

// NoRedirect is the CheckRedirect of clients of the ledger, which redirects nobody.
func NoRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func (t *Trust) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	if t.CA != "" {
		text, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("-%sca: %w", t.Prefix, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, settingf("-%sca %s has no certificate in PEM", t.Prefix, t.CA)
		}
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("-%scert and -%scert-key: %w", t.Prefix, t.Prefix, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// OverHTTP is a base address as HTTP writes it.
func OverHTTP(base string) string {
	if strings.HasPrefix(base, "unix:") {
		return "http://localhost"
	}
	return base
}

// maxTokenFile bounds a file with a token, in bytes.
const maxTokenFile = 4096

// ReadToken reads the file that the flag names, which holds a token.
func ReadToken(flag, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("-%s: %w", flag, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	if err != nil {
		return "", fmt.Errorf("-%s: %w", flag, err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", settingf("-%s %s is empty", flag, path)
	}
	return token, CheckToken(token, "of "+path)
}

// CheckToken refuses what no header can carry, without showing it.
func CheckToken(token, where string) error {
	strange := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(token) >= maxTokenFile || strings.ContainsFunc(token, strange) {
		return settingf("the token %s is none: one is a word of printable ASCII", where)
	}
	return nil
}
