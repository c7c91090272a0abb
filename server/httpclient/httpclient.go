// Package httpclient reads the settings with which programs connect to daemons:
// files of root certificates, client certificates and tokens. The connections
// are those of ctl/client, which imports no other package of this module.
//
// The main invariant: no certificate is silently ignored on a connection to another
// machine. Settings with certificates are rejected if that connection would be in
// plain text.
package httpclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"assetledger/ctl/client"
)

// A SettingError is an error in a setting, such as a file that can't be used.
// Its message names the flag or the file.
type SettingError struct{ words string }

// Error returns the message.
func (e *SettingError) Error() string { return e.words }

func settingf(format string, args ...any) error { return &SettingError{fmt.Sprintf(format, args...)} }

// AsSetting converts err, which came from using a setting, to a *SettingError that keeps
// only the message. It returns nil for nil.
func AsSetting(err error) error {
	if err == nil {
		return nil
	}
	return &SettingError{err.Error()}
}

// A Trust names the files of the root certificates that a client trusts, and of the
// certificate and private key that it authenticates with.
type Trust struct {
	Prefix    string // prefix of the flags' names, for messages, such as "from-"; may be ""
	CA        string // file of root certificates in PEM; "": those of the system
	Cert, Key string // files of a client certificate and its private key in PEM; "": none
}

// Check returns an error if only one of Cert and Key is set.
func (t *Trust) Check() error {
	if (t.Cert == "") != (t.Key == "") {
		return settingf("-%scert and -%scert-key must be given together: the client certificate, and its private key", t.Prefix, t.Prefix)
	}
	return nil
}

// Fits returns an error if certificates are set, but the connection to the base URL
// would go to another machine in plain text. Without the error, the certificates would
// be silently ignored.
func (t *Trust) Fits(base string) error {
	if t.CA == "" && t.Cert == "" || !strings.HasPrefix(base, "http:") {
		return nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback() {
		return err
	}
	flag := "ca"
	if t.CA == "" {
		flag = "cert"
	}
	return settingf("-%s%s is for https:// addresses, but %s is not one: the connection would be neither authenticated nor encrypted", t.Prefix, flag, base)
}

// Transport returns a transport for one base URL. idle is the maximum number of
// idle connections that it keeps. Redirects are up to the client that uses it.
func (t *Trust) Transport(base string, idle int) (*http.Transport, error) {
	if !strings.HasPrefix(base, "https:") {
		return client.NewTransport(base, nil, idle), nil
	}
	config, err := t.tls()
	if err != nil {
		return nil, err
	}
	transport := client.NewTransport(base, config, idle)
	if trust := *t; trust.CA != "" {
		transport.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return trust.dial(ctx, transport, network, addr)
		}
	}
	return transport, nil
}

// dial connects as the transport would by itself, with the same timeouts, but with
// the roots that the file has now: the daemon may run longer than a root is valid.
func (t *Trust) dial(ctx context.Context, as *http.Transport, network, addr string) (net.Conn, error) {
	config, err := t.tls()
	if err != nil {
		return nil, err
	}
	if config.ServerName, _, err = net.SplitHostPort(addr); err != nil {
		return nil, err
	}
	conn, err := as.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, as.TLSHandshakeTimeout)
	defer cancel()
	over := tls.Client(conn, config)
	if err := over.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return over, nil
}

// Client returns a client for one base URL, and that URL in the form that
// HTTP requests need. limit is the maximum duration of a request. The client follows
// no redirects.
func (t *Trust) Client(base string, limit time.Duration) (*http.Client, string, error) {
	if err := t.Fits(base); err != nil {
		return nil, "", err
	}
	transport, err := t.Transport(base, 1)
	if err != nil {
		return nil, "", err
	}
	return &http.Client{Transport: transport, CheckRedirect: client.NoRedirect, Timeout: limit}, client.OverHTTP(base), nil
}

func (t *Trust) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	if t.CA != "" {
		text, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("-%sca: %w", t.Prefix, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, settingf("-%sca %s contains no PEM certificate", t.Prefix, t.CA)
		}
	}
	if t.Cert != "" {
		cert, key := t.Cert, t.Key
		if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
			return nil, fmt.Errorf("-%scert and -%scert-key: %w", t.Prefix, t.Prefix, err)
		}
		// Read for each connection, because the daemon may run longer than the
		// certificate is valid.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(cert, key)
			return &pair, err
		}
	}
	return config, nil
}

// maxURLs is the maximum number of URLs in one flag.
const maxURLs = 16

// ParseURLs parses the value of a flag: base URLs separated by commas. It returns them
// without trailing slashes.
func ParseURLs(flag, value string) ([]string, error) {
	list, err := URLs(value)
	if err != nil {
		return nil, settingf("-%s %v", flag, err)
	}
	return list, nil
}

// URLs is like ParseURLs, but its errors do not name the flag.
func URLs(value string) (list []string, err error) {
	for text := range strings.SplitSeq(value, ",") {
		text = strings.TrimRight(strings.TrimSpace(text), "/")
		if path, ok := strings.CutPrefix(text, "unix:"); ok && path != "" {
			list = append(list, text)
			continue
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("%q: want addresses of the form http://host:port, https://host:port or unix:/path, separated by commas", text)
		}
		list = append(list, text)
	}
	if len(list) > maxURLs {
		return nil, fmt.Errorf("has %d addresses; the maximum is %d", len(list), maxURLs)
	}
	return list, nil
}

// maxTokenFile is the maximum size of a token file, in bytes.
const maxTokenFile = 4096

// ReadToken reads the token from the file at path. flag is the name of the flag that
// path comes from, for errors.
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
	return token, CheckToken(token, "in "+path)
}

// CheckToken rejects a token that no header can carry, or that is too long. The error
// does not contain the token.
func CheckToken(token, where string) error {
	strange := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(token) >= maxTokenFile || strings.ContainsFunc(token, strange) {
		return settingf("the token %s is invalid: it must be one word of printable ASCII, shorter than %d bytes", where, maxTokenFile)
	}
	return nil
}
