package systemtest

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assetledger/server/auth"
	"assetledger/server/reader"
	"assetledger/server/writer"
)

// clientsOf writes an auth file. Each line is "NAME TOKEN SCOPES [owners=…]".
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

// logLines receives what a daemon logs, line by line.
type logLines chan string

func (l logLines) Write(p []byte) (int, error) { l <- string(p); return len(p), nil }

// await waits for a log line that contains the given words.
func (l logLines) await(t *testing.T, words string) {
	t.Helper()
	for {
		select {
		case line := <-l:
			if strings.Contains(line, words) {
				return
			}
		case <-time.After(time.Minute):
			t.Fatalf("the daemon never logged %q", words)
		}
	}
}

// TestAuthFileIsReadAgain checks that after SIGHUP, new tokens are valid, revoked
// ones are not, streams of revoked tokens end, and an invalid file changes nothing.
func TestAuthFileIsReadAgain(t *testing.T) {
	t.Parallel()
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
			t.Fatalf("the stream got %v, %v; want 200", res, err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return bufio.NewReader(res.Body)
	}
	gone, stays := stream("one"), stream("two")

	replaceFile(t, file, []byte("nonsense\n"))
	hup <- syscall.SIGHUP
	lines.await(t, "line 1")
	if status, body := ask(t, http.DefaultClient, "GET", url, "one", ""); status != 200 {
		t.Errorf("after an invalid file: %d %s, want 200 as before", status, body)
	}
	clientsOf(t, file, "new three read", "stays two read")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	hup <- syscall.SIGHUP
	lines.await(t, "chmod 600")
	lines.await(t, "auth file reloaded")
	for token, want := range map[string]int{"one": 401, "two": 200, "three": 200} {
		if status, body := ask(t, http.DefaultClient, "GET", url, token, ""); status != want {
			t.Errorf("token %s: %d %s, want %d", token, status, body, want)
		}
	}
	// The next commit wakes the streams. Only the stream of the remaining token
	// shows it.
	mustCommit(t, w.url, fmt.Sprintf(oneContainer, 1))
	if text, err := io.ReadAll(gone); err != nil || len(text) != 0 {
		t.Errorf("the stream of a revoked client has %q, %v; want an end without a commit", text, err)
	}
	for seen := ""; !strings.Contains(seen, `"global_seq":1`); {
		line, err := stays.ReadString('\n')
		if err != nil {
			t.Fatalf("the stream of a remaining client: %v", err)
		}
		seen = line
	}
}

// TestAuthFileIsNoticed checks that even without a signal, new tokens become valid
// and revoked ones invalid, and that a truncated file changes nothing.
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
	lines.await(t, "auth file reloaded")
	if status, body := ask(t, http.DefaultClient, "GET", url, "two", ""); status != 200 {
		t.Errorf("a new token: %d %s, want 200", status, body)
	}
	if _, err := auth.Revoke(file, "old", ""); err != nil {
		t.Fatal(err)
	}
	lines.await(t, "auth file reloaded")
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

// TestOwnersAreCheckedAtCommit moves a container between owners. A limited
// token must never change it while it belongs to another owner.
func TestOwnersAreCheckedAtCommit(t *testing.T) {
	t.Parallel()
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
			// Adds and removes in one transaction, so that the container can still be
			// removed.
			status, body := ask(t, http.DefaultClient, "POST", commit, "s", `{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":1}},`+
				`{"op":"RemoveFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":1}}]}`)
			switch status {
			case 200:
				touched++
			case 403:
				refused++
			default:
				t.Errorf("the limited token got %d %s, want 200 or 403", status, body)
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
	t.Logf("touched %d times, rejected %d times", touched, refused)
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
