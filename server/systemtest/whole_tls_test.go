package systemtest

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assetledger/server"
	"assetledger/server/auth"
	"assetledger/server/httpserver"
	"assetledger/server/writer"
)

// TestTLS checks that only TLS 1.3 and only HTTP/1.1 are accepted. It checks
// tokens, client certificates, and certificates that change while the daemon
// runs.
func TestTLS(t *testing.T) {
	t.Parallel()
	ca, strangers := newAuthority(t), newAuthority(t)
	serving := ca.issue(t, "server", time.Time{})
	clerk, unknown, stranger := ca.issue(t, "clerk", time.Time{}), ca.issue(t, "unknown", time.Time{}), strangers.issue(t, "clerk", time.Time{})
	expired := ca.issue(t, "expired", time.Now().Add(-time.Hour))
	file := filepath.Join(t.TempDir(), "auth")
	clientsOf(t, file, "admin a admin", "fake x read")
	for _, p := range []pair{clerk, expired, stranger} {
		err := auth.Add(file, auth.Entry{Name: "clerk", Cert: true, Hash: hashOf(t, p.cert), Scopes: auth.Commit}, true, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	hup, lines := make(chan os.Signal), make(logLines, 1000)
	w := startWriter(t, t.TempDir(), func(c *writer.Config) {
		c.Access = httpserver.Access{AuthFile: file, TLSCert: serving.cert, TLSKey: serving.key, ClientCA: ca.root(), Reload: hup}
		c.Log = slog.New(slog.NewTextHandler(lines, nil))
	})
	if !strings.HasPrefix(w.url, "https://127.0.0.1:") {
		t.Fatalf("the URL is %s, want https", w.url)
	}
	addr := strings.TrimPrefix(w.url, "https://")
	over := func(config *tls.Config) *http.Client {
		return &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true, ForceAttemptHTTP2: true}}
	}
	commit := func(n int) string { return fmt.Sprintf(oneContainer, n) }
	for i, c := range []struct {
		about  string
		config *tls.Config
		token  string
		status int
	}{
		{"a token", ca.client(), "a", 200},
		{"neither", ca.client(), "", 401},
		{"a certificate", ca.client(clerk.load(t)), "", 200},
		{"an unknown certificate", ca.client(unknown.load(t)), "", 401},
		{"a token takes precedence over a certificate", ca.client(clerk.load(t)), "nobody's", 401},
		{"a token without the scope", ca.client(clerk.load(t)), "x", 403},
	} {
		if status, body := ask(t, over(c.config), "POST", w.url+"/v1/commit", c.token, commit(i+1)); status != c.status {
			t.Errorf("%s: %d %s, want %d", c.about, status, body, c.status)
		}
	}
	if status, body := ask(t, over(ca.client(clerk.load(t))), "POST", w.url+"/v1/register/class", "", `{"class_id":1,"name":"g"}`); status != 403 {
		t.Errorf("a certificate without the scope: %d %s, want 403", status, body)
	}
	for about, config := range map[string]*tls.Config{
		"an expired certificate": ca.client(expired.load(t)), "one of other roots": force(ca.client(), stranger.load(t)),
	} {
		if res, err := over(config).Get(w.url + "/v1/health"); err == nil {
			t.Errorf("%s was accepted: %s", about, res.Status)
		}
	}
	old := ca.client()
	old.MaxVersion = tls.VersionTLS12
	if conn, err := tls.Dial("tcp", addr, old); err == nil {
		conn.Close()
		t.Error("TLS 1.2 is accepted")
	}
	serial := func() string {
		conn, err := tls.Dial("tcp", addr, ca.client())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if s := conn.ConnectionState(); s.NegotiatedProtocol != "http/1.1" || s.Version != tls.VersionTLS13 {
			t.Errorf("protocol %q, version %x; want http/1.1 and TLS 1.3", s.NegotiatedProtocol, s.Version)
		}
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	first := serial()
	ca.issue(t, "server", time.Time{})
	hup <- syscall.SIGHUP
	lines.await(t, "certificates reloaded")
	second := serial()
	if second == first {
		t.Error("the old certificate is still in use after SIGHUP")
	}
	ca.issue(t, "server", time.Time{})
	for third := second; third == second; { // the daemon notices the new certificate by itself, at a handshake
		third = serial()
	}
	replaceFile(t, serving.cert, []byte("nonsense"))
	hup <- syscall.SIGHUP
	lines.await(t, "the old ones stay")
	if got := serial(); got == second || got == first {
		t.Error("after an invalid file, an older certificate is in use")
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n")
	if line, err := bufio.NewReader(conn).ReadString('\n'); !strings.Contains(line, "400") {
		t.Errorf("plain text: %q %v, want 400", line, err)
	}
}

// force makes a client present a certificate, whatever the server requests.
func force(config *tls.Config, cert tls.Certificate) *tls.Config {
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil }
	return config
}

func hashOf(t *testing.T, path string) [sha256.Size]byte {
	t.Helper()
	text, err := os.ReadFile(path)
	block, _ := pem.Decode(text)
	if err != nil || block == nil {
		t.Fatal(path, err)
	}
	return sha256.Sum256(block.Bytes)
}

// TestUnixSocket checks the socket's mode and its removal, and which files the daemon
// replaces with the socket.
func TestUnixSocket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "write")
	log := t.TempDir()
	start := func() *daemon {
		return startWriter(t, log, func(c *writer.Config) { c.Listen, c.Access.SocketMode = "unix:"+path, 0o660 })
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", path) }}}
	w := start()
	if w.url != "unix:"+path {
		t.Errorf("the ready line has %s, want unix:%s", w.url, path)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != fs.ModeSocket|0o660 {
		t.Errorf("the socket is %v, %v; want mode 0660", info, err)
	}
	if status, body := ask(t, client, "POST", "http://ledger/v1/commit", "", fmt.Sprintf(oneContainer, 1)); status != 200 {
		t.Errorf("a commit on the socket: %d %s, want 200", status, body)
	}
	taken := writer.DefaultConfig()
	taken.Dir, taken.SegmentSize, taken.Listen, taken.Log = t.TempDir(), testSegment, "unix:"+path, slog.New(slog.DiscardHandler)
	if err := server.RunWrite(t.Context(), taken); err == nil || !strings.Contains(err.Error(), "another program listens") {
		t.Errorf("a second daemon on the socket: %v, want that another program listens", err)
	}
	w.stop()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}

	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	w = start()
	if status, _ := ask(t, client, "GET", "http://ledger/v1/health", "", ""); status != 200 {
		t.Errorf("instead of a socket that was left behind: status %d, want 200", status)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.stop()
	if text, err := os.ReadFile(path); string(text) != "mine" {
		t.Error("a stopping daemon removed a file that is not its socket:", err)
	}
	if err := server.RunWrite(t.Context(), taken); err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("instead of a file: %v, want that it is not a socket", err)
	}
}

// TestAddresses checks which access settings are rejected at startup.
func TestAddresses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "auth")
	clientsOf(t, file, "a a admin")
	for _, c := range []struct {
		listen string
		access httpserver.Access
		words  string // "": it is accepted
	}{
		{"127.0.0.1:0", httpserver.Access{}, ""},
		{"[::1]:0", httpserver.Access{}, ""},
		{"localhost:0", httpserver.Access{}, ""},
		{"unix:/x", httpserver.Access{}, ""},
		{"0.0.0.0:0", httpserver.Access{}, "-auth-file"},
		{":0", httpserver.Access{}, "-insecure"},
		{"[::]:0", httpserver.Access{}, "-listen [::]:0"},
		{"192.0.2.7:0", httpserver.Access{}, "ledgerctl token new"},
		{"ledger.example:0", httpserver.Access{}, "-listen"},
		{"0.0.0.0:0", httpserver.Access{Insecure: true}, ""},
		{"0.0.0.0:0", httpserver.Access{AuthFile: file}, ""},
		{"127.0.0.1", httpserver.Access{}, "-listen"},
		{"unix:", httpserver.Access{}, "-listen"},
		{"unix:/x", httpserver.Access{TLSCert: "c", TLSKey: "k"}, "-tls-cert"},
		{"127.0.0.1:0", httpserver.Access{TLSKey: "k"}, "-tls-cert"},
		{"127.0.0.1:0", httpserver.Access{ClientCA: "k", AuthFile: file}, "-client-ca needs -tls-cert"},
		{"127.0.0.1:0", httpserver.Access{TLSCert: "c", TLSKey: "k", ClientCA: "r"}, "-client-ca needs -auth-file"},
		{"127.0.0.1:0", httpserver.Access{SocketMode: 0o4777}, "-socket-mode"},
	} {
		err := c.access.Check(c.listen)
		if (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s %+v: %v, want %q", c.listen, c.access, err, c.words)
		}
	}
	for _, a := range []httpserver.Access{{AuthFile: filepath.Join(dir, "none")}, {TLSCert: file, TLSKey: file}} {
		c := writer.DefaultConfig()
		c.Dir, c.Listen, c.Access, c.Log = filepath.Join(dir, "log"), "127.0.0.1:0", a, slog.New(slog.DiscardHandler)
		if err := server.RunWrite(t.Context(), c); server.ExitCode(err) != server.ExitUsage {
			t.Errorf("%+v: %v, want exit code %d", a, err, server.ExitUsage)
		}
		if _, err := os.Stat(c.Dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: the folder of the log was created: %v", a, err)
		}
	}
}
