package systemtest

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTokensOfPrograms creates, uses, lists and revokes tokens with
// ledgerctl, including over TLS with a client certificate, and over Unix sockets.
func TestTokensOfPrograms(t *testing.T) {
	ca, home := newAuthority(t), t.TempDir()
	serving, holder := ca.issue(t, "server", time.Time{}), ca.issue(t, "holder", time.Time{})
	file, dir := filepath.Join(home, "auth"), filepath.Join(home, "log")
	socket := "unix:" + filepath.Join(home, "read.sock")
	t.Setenv("LEDGER_AUTH_FILE", file)
	ctl := func(want int, args ...string) (out, words string) {
		t.Helper()
		code, out, words := runProgram(t, "ledgerctl", args...)
		if code != want {
			t.Errorf("ledgerctl %v: exit code %d, want %d\n%s%s", args, code, want, out, words)
		}
		return out, words
	}
	token := func(name string, args ...string) string {
		path := filepath.Join(home, name+".token")
		out, _ := ctl(0, append([]string{"token", "new", name, "-to", path}, args...)...)
		info, err := os.Stat(path)
		if err != nil || info.Mode() != 0o600 || info.Size() != 48 || out != "" {
			t.Fatalf("token new wrote %v, %v and printed %q; want 48 bytes of mode 0600 and no output", info, err, out)
		}
		return path
	}
	mask := syscall.Umask(0) // nothing may depend on the umask
	defer syscall.Umask(mask)
	admin := token("admin", "-scopes", "admin")
	ctl(0, "token", "new", "holder", "-cert-file", holder.cert, "-scopes", "commit,read", "-owners", "7")
	ctl(2, "token", "new", "admin")
	ctl(2, "token", "new", "x", "-scopes", "all")
	ctl(1, "token", "revoke", "nobody")
	ctl(2, "token", "new", "nameless", "-auth-file", "")
	if out, _ := ctl(0, "token", "new", "printed", "-scopes", "metrics"); len(out) != 48 {
		t.Errorf("token new printed %q, want 48 bytes", out)
	}
	ctl(1, "token", "new", "second", "-to", admin) // an existing file is never overwritten
	ctl(2, "token", "new", "admin", "-to", filepath.Join(home, "taken"))
	if _, err := os.Stat(filepath.Join(home, "taken")); !os.IsNotExist(err) {
		t.Errorf("a token that grants no access was left behind: %v", err)
	}
	if out, _ := ctl(0, "token", "list", "-o", "json"); !strings.Contains(out, `{"name":"holder","kind":"cert"`) || !strings.Contains(out, `"owners":[7]`) {
		t.Errorf("token list must show the certificate of holder and its owner: %s", out)
	}

	w := startProcessAt(t, "127.0.0.1:0", "ledger-write", "-dir", dir, "-segment-size", "4194304",
		"-tls-cert", serving.cert, "-tls-key", serving.key, "-client-ca", ca.root())
	startProcessAt(t, socket, "ledger-read", "-dir", dir)
	t.Setenv("LEDGER_WRITE_URL", w.url)
	t.Setenv("LEDGER_READ_URL", socket)
	commit := []string{"commit", "-op", "CreateContainer container_id=1 kind=Standard owner=7"}
	if _, words := ctl(4, commit...); !strings.Contains(words, "-ca") {
		t.Errorf("the error without -ca does not name it: %s", words)
	}
	t.Setenv("LEDGER_CA", ca.root())
	if _, words := ctl(3, commit...); !strings.Contains(words, "Unauthorized") {
		t.Errorf("the error without a token is not Unauthorized: %s", words)
	}
	as := []string{"-cert", holder.cert, "-cert-key", holder.key}
	ctl(0, append(as, commit...)...)
	ctl(3, append(as, "commit", "-op", "CreateContainer container_id=2 kind=Standard owner=8")...)
	ctl(2, "health", "-cert", holder.cert)
	read := []string{"read", "commit", "1", "-min-seq", "1", "-o", "json"}
	if out, _ := ctl(0, append(read, "-token-file", admin)...); !strings.Contains(out, `"principal":"holder"`) {
		t.Errorf("read commit must show the principal holder: %s", out)
	}
	ctl(3, append(read, "-token-file", serving.cert)[:len(read)]...)
	ctl(2, append(read, "-token-file", serving.cert)...) // the file must hold exactly one word of printable ASCII

	late := token("late", "-scopes", "read")
	ctl(3, append(read, "-token-file", late)...)
	for _, p := range []*process{w} {
		p.cmd.Process.Signal(syscall.SIGHUP)
	}
	_, words := ctl(0, "token", "revoke", "late")
	if !strings.Contains(words, "1 credential") {
		t.Errorf("token revoke must report 1 credential: %s", words)
	}
	w.stop(t)
	if !strings.Contains(w.words.String(), "auth file reloaded") {
		t.Errorf("after SIGHUP the daemon must log that it reloaded the auth file:\n%s", w.words)
	}
}
