package systemtest

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assetledger/server"
	"assetledger/server/auth"
	"assetledger/server/httpserver"
	"assetledger/server/reader"
	"assetledger/server/writer"
)

// clientsOf writes an auth file with lines "NAME TOKEN SCOPES [owners=…]".
func clientsOf(t *testing.T, path string, lines ...string) {
	t.Helper()
	text := ""
	for _, line := range lines {
		words := strings.SplitN(line, " ", 3)
		text += fmt.Sprintf("%s sha256:%x %s\n", words[0], auth.HashToken(words[1]), words[2])
	}
	replaceFile(t, path, []byte(text))
}

// ask sends one request and returns the status and the body.
func ask(t *testing.T, client *http.Client, method, url, token, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// logLines gets what a daemon logs, line by line.
type logLines chan string

func (l logLines) Write(p []byte) (int, error) { l <- string(p); return len(p), nil }

// await waits for a line with the words.
func (l logLines) await(t *testing.T, words string) {
	t.Helper()
	for {
		select {
		case line := <-l:
			if strings.Contains(line, words) {
				return
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("the daemon never logged %q", words)
		}
	}
}

// TestAuthFileIsReadAgain: on a hangup tokens come and go, streams end with
// them, and a file that is none changes nothing.
func TestAuthFileIsReadAgain(t *testing.T) {
	file, dir := filepath.Join(t.TempDir(), "auth"), t.TempDir()
	clientsOf(t, file, "old one commit,read", "stays two read")
	hup, lines := make(chan os.Signal), make(logLines, 1000)
	w := startWriter(t, dir)
	r := startReader(t, dir, func(c *reader.Config) {
		c.Access.AuthFile, c.Access.Reload, c.Log = file, hup, slog.New(slog.NewTextHandler(lines, nil))
	})
	url := r.url + "/v1/read/commits"
	stream := func(token string) *bufio.Reader {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", url, nil)
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Accept", "text/event-stream")
		res, err := http.DefaultClient.Do(req)
		if err != nil || res.StatusCode != 200 {
			t.Fatal(res, err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return bufio.NewReader(res.Body)
	}
	gone, stays := stream("one"), stream("two")

	replaceFile(t, file, []byte("nonsense\n"))
	hup <- syscall.SIGHUP
	lines.await(t, "line 1")
	if status, body := ask(t, http.DefaultClient, "GET", url, "one", ""); status != 200 {
		t.Errorf("after a bad file: %d %s", status, body)
	}
	clientsOf(t, file, "new three read", "stays two read")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	hup <- syscall.SIGHUP
	lines.await(t, "chmod 600")
	lines.await(t, "auth file read again")
	for token, want := range map[string]int{"one": 401, "two": 200, "three": 200} {
		if status, body := ask(t, http.DefaultClient, "GET", url, token, ""); status != want {
			t.Errorf("token %s: %d %s, want %d", token, status, body, want)
		}
	}
	// The next commit wakes the streams: only the one of who is known shows it.
	mustCommit(t, w.url, fmt.Sprintf(oneContainer, 1))
	if text, err := io.ReadAll(gone); err != nil || len(text) != 0 {
		t.Errorf("the stream of who was revoked: %q %v", text, err)
	}
	for seen := ""; !strings.Contains(seen, `"global_seq":1`); {
		line, err := stays.ReadString('\n')
		if err != nil {
			t.Fatalf("the stream of who stays: %v", err)
		}
		seen = line
	}
}

// TestAuthFileIsNoticed: without a signal new tokens get valid and revoked ones
// invalid, and a file that was cut short changes nothing.
func TestAuthFileIsNoticed(t *testing.T) {
	t.Parallel()
	file, lines := filepath.Join(t.TempDir(), "auth"), make(logLines, 1000)
	clientsOf(t, file, "old one read")
	r := startReader(t, t.TempDir(), func(c *reader.Config) {
		c.Access.AuthFile, c.Log = file, slog.New(slog.NewTextHandler(lines, nil))
	})
	url := r.url + "/v1/read/freshness"
	new := auth.Entry{Name: "new", Hash: auth.HashToken("two"), Scopes: auth.Read}
	if err := auth.Add(file, new, false, nil); err != nil {
		t.Fatal(err)
	}
	lines.await(t, "auth file read again")
	if status, body := ask(t, http.DefaultClient, "GET", url, "two", ""); status != 200 {
		t.Errorf("a new token: %d %s", status, body)
	}
	if _, err := auth.Revoke(file, "old", ""); err != nil {
		t.Fatal(err)
	}
	lines.await(t, "auth file read again")
	for _, cut := range []string{"", new.String(), new.String() + "\nold sha"} {
		replaceFile(t, file, []byte(cut))
		lines.await(t, "can't be used")
		for token, want := range map[string]int{"one": 401, "two": 200} {
			if status, body := ask(t, http.DefaultClient, "GET", url, token, ""); status != want {
				t.Errorf("token %s with the file %q: %d %s, want %d", token, cut, status, body, want)
			}
		}
	}
}

// TestOwnersAreJudgedWhenItHappens: while a container goes from owner to owner,
// a limited token never touches it when it is another's.
func TestOwnersAreJudgedWhenItHappens(t *testing.T) {
	file, dir := filepath.Join(t.TempDir(), "auth"), t.TempDir()
	clientsOf(t, file, "admin a admin", "seven s commit,read owners=7")
	w := startWriter(t, dir, func(c *writer.Config) { c.Access.AuthFile = file })
	commit := w.url + "/v1/commit"
	if status, body := ask(t, http.DefaultClient, "POST", commit, "a",
		`{"operations":[{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"g"}}},{"op":"CreateContainer","args":{"container_id":1,"kind":"Standard","owner":7}}]}`); status != 200 {
		t.Fatal(body)
	}
	const rounds = 150
	done := make(chan struct{})
	var wait sync.WaitGroup
	var touched, refused int
	wait.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			// Add and remove in one transaction, so that the container stays removable.
			status, body := ask(t, http.DefaultClient, "POST", commit, "s", `{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":1}},`+
				`{"op":"RemoveFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":1}}]}`)
			switch status {
			case 200:
				touched++
			case 403:
				refused++
			default:
				t.Errorf("%d %s", status, body)
			}
		}
	})
	for i := range rounds {
		owner := 7 + (i+1)%2
		status, body := ask(t, http.DefaultClient, "POST", commit, "a", fmt.Sprintf(`{"operations":[{"op":"RemoveContainer","args":{"container_id":1}},`+
			`{"op":"CreateContainer","args":{"container_id":1,"kind":"Standard","owner":%d}}]}`, owner))
		if status != 200 {
			t.Fatal(body)
		}
	}
	close(done)
	wait.Wait()
	t.Logf("touched %d times, refused %d times", touched, refused)
	r := startReader(t, dir)
	owner := 7
	for seq := 2; ; seq++ {
		status, body := ask(t, http.DefaultClient, "GET", fmt.Sprintf("%s/v1/read/commit/%d", r.url, seq), "", "")
		if status != 200 {
			break
		}
		if strings.Contains(body, "RemoveContainer") {
			owner = 15 - owner
		}
		if strings.Contains(body, `"principal":"seven"`) && owner != 7 {
			t.Errorf("commit %d touched the container of owner %d", seq, owner)
		}
	}
}

// TestTLS: version 1.3 alone, HTTP/1.1 alone, tokens and client certificates,
// and certificates that change while the daemon runs.
func TestTLS(t *testing.T) {
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
		t.Fatal(w.url)
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
		{"a certificate nobody knows", ca.client(unknown.load(t)), "", 401},
		{"a token counts before a certificate", ca.client(clerk.load(t)), "nobody's", 401},
		{"a token that may not", ca.client(clerk.load(t)), "x", 403},
	} {
		if status, body := ask(t, over(c.config), "POST", w.url+"/v1/commit", c.token, commit(i+1)); status != c.status {
			t.Errorf("%s: %d %s, want %d", c.about, status, body, c.status)
		}
	}
	if status, body := ask(t, over(ca.client(clerk.load(t))), "POST", w.url+"/v1/register/class", "", `{"class_id":1,"name":"g"}`); status != 403 {
		t.Errorf("a certificate without the scope: %d %s", status, body)
	}
	for about, config := range map[string]*tls.Config{
		"an expired certificate": ca.client(expired.load(t)), "one of other roots": force(ca.client(), stranger.load(t)),
	} {
		if res, err := over(config).Get(w.url + "/v1/health"); err == nil {
			t.Errorf("%s: %s", about, res.Status)
		}
	}
	old := ca.client()
	old.MaxVersion = tls.VersionTLS12
	if conn, err := tls.Dial("tcp", addr, old); err == nil {
		conn.Close()
		t.Error("TLS 1.2 is spoken")
	}
	serial := func() string {
		conn, err := tls.Dial("tcp", addr, ca.client())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if s := conn.ConnectionState(); s.NegotiatedProtocol != "http/1.1" || s.Version != tls.VersionTLS13 {
			t.Errorf("protocol %q, version %x", s.NegotiatedProtocol, s.Version)
		}
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	first := serial()
	ca.issue(t, "server", time.Time{})
	hup <- syscall.SIGHUP
	lines.await(t, "certificates read again")
	second := serial()
	if second == first {
		t.Error("the old certificate is still shown after a hangup")
	}
	ca.issue(t, "server", time.Time{})
	for third := second; third == second; { // noticed by itself, at a handshake
		third = serial()
	}
	replaceFile(t, serving.cert, []byte("nonsense"))
	hup <- syscall.SIGHUP
	lines.await(t, "the old ones stay")
	if got := serial(); got == second || got == first {
		t.Error("after a file that is none, an older certificate is shown")
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n")
	if line, err := bufio.NewReader(conn).ReadString('\n'); !strings.Contains(line, "400") {
		t.Errorf("plain text: %q %v", line, err)
	}
}

// force shows a certificate whatever the server asks for.
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

// TestUnixSocket: its mode, what is replaced and what is not, and its end.
func TestUnixSocket(t *testing.T) {
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
		t.Error("the ready line says", w.url)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != fs.ModeSocket|0o660 {
		t.Errorf("%v %v", info, err)
	}
	if status, body := ask(t, client, "POST", "http://ledger/v1/commit", "", fmt.Sprintf(oneContainer, 1)); status != 200 {
		t.Error(status, body)
	}
	taken := writer.DefaultConfig()
	taken.Dir, taken.SegmentSize, taken.Listen, taken.Log = t.TempDir(), testSegment, "unix:"+path, slog.New(slog.DiscardHandler)
	if err := server.RunWrite(t.Context(), taken); err == nil || !strings.Contains(err.Error(), "another program listens") {
		t.Error("a second daemon on the socket:", err)
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
		t.Error("in the place of a socket that was left behind:", status)
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
	if err := server.RunWrite(t.Context(), taken); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Error("in the place of a file:", err)
	}
}

// TestAddresses: which settings of who may come in are refused at start.
func TestAddresses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "auth")
	clientsOf(t, file, "a a admin")
	for _, c := range []struct {
		listen string
		access httpserver.Access
		words  string // "": it is fine
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
			t.Errorf("%+v: %v", a, err)
		}
		if _, err := os.Stat(c.Dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: the folder of the log was made: %v", a, err)
		}
	}
}
