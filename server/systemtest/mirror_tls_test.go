package systemtest

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assetledger/server/auth"
	"assetledger/server/etcd/etcdtest"
	"assetledger/server/httpclient"
	"assetledger/server/httpserver"
	"assetledger/server/mirror"
	"assetledger/server/reader"
	"assetledger/server/writer"
)

// A secured has the private CA and the auth file of write daemons whose log
// requires a token or a client certificate.
type secured struct {
	ca      *authority
	serving pair
	auth    string
}

func newSecured(t *testing.T) *secured {
	t.Helper()
	s := &secured{ca: newAuthority(t), auth: filepath.Join(t.TempDir(), "auth")}
	s.serving = s.ca.issue(t, "server", time.Time{})
	clientsOf(t, s.auth, "admin a admin", "mirror m log", "other o read")
	return s
}

// admit issues a client certificate that is authorized to read the log.
func (s *secured) admit(t *testing.T, name string) pair {
	t.Helper()
	p := s.ca.issue(t, name, time.Time{})
	if err := auth.Add(s.auth, auth.Entry{Name: name, Cert: true, Hash: hashOf(t, p.cert), Scopes: auth.Log}, true, nil); err != nil {
		t.Fatal(err)
	}
	return p
}

func (s *secured) client() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: s.ca.client(), DisableKeepAlives: true}}
}

// commit creates container n.
func (s *secured) commit(t *testing.T, url string, n int) {
	t.Helper()
	if status, body := ask(t, s.client(), "POST", url+"/v1/commit", "a", fmt.Sprintf(oneContainer, n)); status != 200 {
		t.Fatalf("the commit got %d %s, want 200", status, body)
	}
}

// TestMirrorOverTLS copies a log from a daemon with a private CA: once with a token,
// and once with a client certificate that is replaced while the mirror runs.
func TestMirrorOverTLS(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	first := s.admit(t, "first")
	hup := make(chan os.Signal)
	w := startWriter(t, t.TempDir(), func(c *writer.Config) {
		c.Access = httpserver.Access{AuthFile: s.auth, TLSCert: s.serving.cert, TLSKey: s.serving.key, ClientCA: s.ca.root(), Reload: hup}
	})
	s.commit(t, w.url, 1)
	token := filepath.Join(t.TempDir(), "token")
	replaceFile(t, token, []byte("m\n"))
	wrong := filepath.Join(t.TempDir(), "token")
	replaceFile(t, wrong, []byte("o\n"))
	start := func(token string, trust httpclient.Trust) (*daemon, logLines) {
		lines := make(logLines, 1000)
		return startReader(t, t.TempDir()+"/log", func(c *reader.Config) {
			c.Log = slog.New(slog.NewTextHandler(lines, nil))
			c.Mirror = mirror.Config{From: w.url, TokenFile: token, Trust: trust}
		}), lines
	}
	for _, c := range []struct {
		token string
		trust httpclient.Trust
		why   string
	}{
		{token, httpclient.Trust{}, "unknown authority"},
		{"", httpclient.Trust{CA: s.ca.root()}, "401 Unauthorized"},
		{wrong, httpclient.Trust{CA: s.ca.root()}, "403 Forbidden"},
	} {
		r, lines := start(c.token, c.trust)
		lines.await(t, c.why)
		r.stop()
	}
	byToken, _ := start(token, httpclient.Trust{CA: s.ca.root()})
	awaitSeq(t, byToken.url, 1)

	shown := pair{filepath.Join(t.TempDir(), "c.crt"), filepath.Join(t.TempDir(), "c.key")}
	show := func(p pair) { // replaces the client's certificate and key
		for from, to := range map[string]string{p.cert: shown.cert, p.key: shown.key} {
			text, err := os.ReadFile(from)
			if err != nil {
				t.Fatal(err)
			}
			replaceFile(t, to, text)
		}
	}
	show(first)
	byCert, lines := start("", httpclient.Trust{CA: s.ca.root(), Cert: shown.cert, Key: shown.key})
	awaitSeq(t, byCert.url, 1)
	if _, err := auth.Revoke(s.auth, "first", ""); err != nil {
		t.Fatal(err)
	}
	hup <- os.Interrupt
	lines.await(t, "401 Unauthorized")
	show(s.admit(t, "second"))
	hup <- os.Interrupt
	s.commit(t, w.url, 2)
	awaitSeq(t, byCert.url, 2)
}

// TestFillOverTLS starts a second daemon on a log of which etcd holds only the end.
// The second daemon must fill its directory from the first one, which has a private
// CA, using a client certificate.
func TestFillOverTLS(t *testing.T) {
	t.Parallel()
	etcd := "etcd://" + etcdtest.Start(t, 1).Members[0].Endpoint + "/tls"
	s := newSecured(t)
	dir := filepath.Join(t.TempDir(), "a")
	w := startWriteProcess(t, dir)
	prepared(t, w.url)
	commits(t, w.url, 5)
	w.stop(t)
	if code, out, words := runProgram(t, "ledgerctl", "log", "push", "-dir", dir, "-to", etcd); code != 0 {
		t.Fatalf("ledgerctl log push: exit code %d\n%s%s", code, out, words)
	}
	host := func(dir string, more ...string) *process {
		at := etcdtest.FreeAddress(t)
		return startProcessAt(t, at, "ledger-write", append([]string{"-dir", dir, "-driver", etcd, "-advertise", "https://" + at,
			"-auth-file", s.auth, "-tls-cert", s.serving.cert, "-tls-key", s.serving.key, "-client-ca", s.ca.root()}, more...)...)
	}
	a := host(dir)
	await := func(what string, path, token, body string) {
		t.Helper()
		awaits(t, what, func() bool {
			status, got := ask(t, s.client(), "GET", a.url+path, token, "")
			return status == 200 && body == "" || body != "" && strings.Contains(got, body)
		})
	}
	await("the first host is the writer", "/v1/readyz", "", "")
	s.commit(t, a.url, 100)
	client := s.admit(t, "hosts")
	b := host(dir+"2", "-from-ca", s.ca.root(), "-from-cert", client.cert, "-from-cert-key", client.key)
	await("the second host has everything", "/v1/health", "a", `"lag":0,"url":"`+b.url+`"}]`)
	b.stop(t)
	a.stop(t)
	if first := sameFiles(t, dir, dir+"2"); first != firstSegment {
		t.Errorf("the copy begins with %s, want %s", first, firstSegment)
	}
}
