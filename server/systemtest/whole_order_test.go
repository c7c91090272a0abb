package systemtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetledger/wal"
)

const oneContainer = `{"operations":[{"op":"CreateContainer","args":{"container_id":%d,"kind":"Standard"}}]}`

// mustShow waits until a read daemon has applied commit seq, and checks that it shows
// a container.
func mustShow(t *testing.T, url string, id int, seq int64) {
	t.Helper()
	var page struct{}
	mustGet(t, fmt.Sprintf("%s/v1/read/container/%d?min_seq=%d&wait=20s", url, id, seq), &page)
}

// TestDaemonsInAnyOrder starts, stops and kills the two daemons in various orders.
func TestDaemonsInAnyOrder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log") // created by the daemon that starts first
	r := startProcess(t, "ledger-read", "-dir", dir)
	var list struct {
		Data struct{ Containers []struct{} }
	}
	mustGet(t, r.url+"/v1/read/containers", &list)
	if list.Data.Containers == nil || len(list.Data.Containers) != 0 {
		t.Errorf("a read daemon without a log shows %v, want an empty list", list)
	}

	w := startWriteProcess(t, dir)
	mustCommit(t, w.url, fmt.Sprintf(oneContainer, 1))
	awaitSeq(t, r.url, 1)
	mustShow(t, r.url, 1, 1)

	w.stop(t) // only the reader runs
	mustShow(t, r.url, 1, 1)
	r.kill()
	r = startProcess(t, "ledger-read", "-dir", dir)
	mustShow(t, r.url, 1, 1)

	w = startWriteProcess(t, dir) // the writer joins
	mustCommit(t, w.url, fmt.Sprintf(oneContainer, 2))
	mustShow(t, r.url, 2, 2)

	r.stop(t) // only the writer runs
	mustCommit(t, w.url, fmt.Sprintf(oneContainer, 3))
	w.kill()
	w = startWriteProcess(t, dir)
	mustCommit(t, w.url, fmt.Sprintf(oneContainer, 4))
	other := startProcess(t, "ledger-read", "-dir", dir, "-name", "other") // two readers
	r = startProcess(t, "ledger-read", "-dir", dir)
	mustShow(t, r.url, 4, 4)
	mustShow(t, other.url, 4, 4)
	w.kill()
	other.stop(t)
	mustShow(t, r.url, 4, 4)
	r.stop(t)
}

// awaitSeq waits until a read daemon shows a commit. The daemon may not have found the
// log yet. Until it has, min_seq is beyond the end, and is rejected at once.
func awaitSeq(t *testing.T, url string, seq int) {
	t.Helper()
	awaits(t, fmt.Sprintf("the read daemon finds commit %d", seq), func() bool {
		a, err := get(http.DefaultClient, fmt.Sprintf("%s/v1/read/freshness?min_seq=%d&wait=20s", url, seq))
		return err == nil && a.status == 200
	})
}

// TestExitCodes checks the daemons' exit codes, on which a service manager relies.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := startWriteProcess(t, dir)
	for i := range 20 {
		mustCommit(t, w.url, fmt.Sprintf(oneContainer, i+1))
	}
	if code, out, words := runProgram(t, "ledger-write", "-dir", dir, "-listen", "127.0.0.1:0"); code != 4 || out != "" || words == "" {
		t.Errorf("a second write daemon: exit code %d, want 4\n%s%s", code, out, words)
	}
	w.stop(t)
	for _, name := range []string{"ledger-write", "ledger-read"} {
		for _, args := range [][]string{{}, {"-dir", dir, "-nothing"}, {"-dir", dir, "surplus"}} {
			if code, out, words := runProgram(t, name, args...); code != 2 || out != "" || words == "" {
				t.Errorf("%s %v: exit code %d, want 2\n%s%s", name, args, code, out, words)
			}
		}
		if code, _, words := runProgram(t, name, "-dir", dir, "-listen", "192.0.2.7:0", "-insecure"); code != 1 || words == "" {
			t.Errorf("%s on an address of another machine: exit code %d, want 1\n%s", name, code, words)
		}
	}
	damage(t, dir)
	for _, name := range []string{"ledger-write", "ledger-read"} {
		if code, out, words := runProgram(t, name, "-dir", dir, "-listen", "127.0.0.1:0"); code != 3 || out != "" || words == "" {
			t.Errorf("%s on a damaged log: exit code %d, want 3\n%s%s", name, code, out, words)
		}
	}
}

// damage changes one byte in the middle of acknowledged commits.
func damage(t *testing.T, dir string) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dir, "wal", "*.seg"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("no segments: %v", err)
	}
	f, err := os.OpenFile(segments[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const place = 4096 + 5*512 + 70 // in the body of the sixth frame
	var b [1]byte
	if _, err := f.ReadAt(b[:], place); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x10
	if _, err := f.WriteAt(b[:], place); err != nil {
		t.Fatal(err)
	}
}

// TestRefusedLogIsNotChanged damages a commit that the daemon reads only when it
// replays the log. It leaves a torn frame at the end of the log, which a successful
// start would move aside. The write daemon must exit with code 3 and change no file.
func TestRefusedLogIsNotChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := startProcess(t, "ledger-write", "-dir", dir, "-segment-size", "65536")
	for i := range 150 {
		mustCommit(t, w.url, fmt.Sprintf(oneContainer, i+1))
	}
	w.stop(t)
	segments, _, err := wal.Stat(dir, nil)
	if err != nil || len(segments) < 2 {
		t.Fatalf("the log has %d segments, want at least 2: %v", len(segments), err)
	}
	damage(t, dir)
	last := &segments[len(segments)-1]
	f, err := os.OpenFile(last.File, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("torn"), last.Used+100); err != nil {
		t.Fatal(err)
	}
	f.Close()
	before := allFiles(t, dir)
	if code, _, words := runProgram(t, "ledger-write", "-dir", dir, "-listen", "127.0.0.1:0"); code != 3 {
		t.Errorf("exit code %d, want 3\n%s", code, words)
	}
	if diff := cmp.Diff(before, allFiles(t, dir)); diff != "" {
		t.Errorf("a rejected log was changed:\n%.2000s", diff)
	}
}

// allFiles returns the SHA-256 of each file below a directory.
func allFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		sum := sha256.Sum256(b)
		files[path] = hex.EncodeToString(sum[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
