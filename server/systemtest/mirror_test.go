package systemtest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"assetledger/server/etcd/etcdtest"
)

// A badWire is a proxy between two daemons. While cut is not 0, it cuts connections
// after a random number of bytes, or changes a byte in transit.
type badWire struct {
	ln     net.Listener
	target atomic.Pointer[string] // host:port
	cut    atomic.Int64           // a connection is cut after at most this many bytes; 0: never
	flip   atomic.Bool            // change a byte instead of cutting
	dice   *rand.Rand
	hits   atomic.Int64

	mu   sync.Mutex
	open map[net.Conn]struct{}
}

func newBadWire(t *testing.T, url string) *badWire {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &badWire{ln: ln, open: map[net.Conn]struct{}{}, dice: rand.New(rand.NewPCG(1, 2))}
	w.lead(url)
	t.Cleanup(func() { ln.Close(); w.cutAll() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			var limit int64
			if most := w.cut.Load(); most > 0 {
				limit = 1 + w.dice.Int64N(most)
			}
			go w.carry(c, limit)
		}
	}()
	return w
}

func (w *badWire) url() string { return "http://" + w.ln.Addr().String() }

// lead directs the proxy to the daemon at url.
func (w *badWire) lead(url string) {
	at := strings.TrimPrefix(url, "http://")
	w.target.Store(&at)
}

func (w *badWire) carry(c net.Conn, limit int64) {
	defer c.Close()
	d, err := net.Dial("tcp", *w.target.Load())
	if err != nil {
		return
	}
	defer d.Close()
	w.mu.Lock()
	w.open[c], w.open[d] = struct{}{}, struct{}{}
	w.mu.Unlock()
	go func() {
		io.Copy(d, c)
		d.Close()
	}()
	if limit == 0 {
		io.Copy(c, d)
		return
	}
	if _, err := io.CopyN(c, d, limit); err != nil {
		return
	}
	w.hits.Add(1)
	if w.flip.Load() {
		b := make([]byte, 1)
		if _, err := io.ReadFull(d, b); err == nil {
			b[0] ^= 4
			c.Write(b)
			io.Copy(c, d)
		}
	}
}

// cutAll cuts all open connections.
func (w *badWire) cutAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.open {
		c.Close()
	}
	clear(w.open)
}

// batchOf returns a batch of n transactions. size is the number of digits in the
// metadata of each.
func batchOf(n, size int) string {
	var b strings.Builder
	b.WriteString(`{"transactions":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"operations":[{"op":"AddFungible","args":{"container_id":%d,"class_id":1,"key":%d,"quantity":1}}],"metadata":{"x":"%0*d"}}`, 1+i%3, i%7, size, i)
	}
	return b.String() + "]}"
}

// commits commits batches of various sizes, and returns the number of the last
// commit.
func commits(t *testing.T, url string, batches int) int64 {
	t.Helper()
	for i := range batches {
		a, err := post(http.DefaultClient, url+"/v1/commit/batch", batchOf(10+i%20, 20+i*37%300))
		if err != nil || a.status != 200 {
			t.Fatalf("a batch got %+v, %v; want 200", a, err)
		}
	}
	return logEnd(t, url)
}

// prepared creates what the batches need.
func prepared(t *testing.T, url string) {
	t.Helper()
	mustCommit(t, url, `{"operations":[{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"Gold"}}}]}`)
	for i := range 3 {
		mustCommit(t, url, fmt.Sprintf(`{"operations":[{"op":"CreateContainer","args":{"container_id":%d,"kind":"Standard"}}]}`, i+1))
	}
}

// arrives waits until a read daemon has applied commit seq, and returns its responses
// for the balances of the three containers.
func arrives(t *testing.T, url string, seq int64) (all string) {
	t.Helper()
	for i := range 3 {
		awaits(t, fmt.Sprintf("commit %d arrives at %s", seq, url), func() bool {
			a, err := get(http.DefaultClient, fmt.Sprintf("%s/v1/read/container/%d/balances?min_seq=%d&wait=10s", url, i+1, seq))
			if err != nil {
				t.Fatal(err)
			}
			if a.status != 200 {
				return false
			}
			body, _, _ := strings.Cut(a.body, `,"freshness"`)
			all += body
			return true
		})
	}
	return all
}

// sameFiles compares the bytes of the segments in two directories. Each segment
// of the copy must be in the original, and the last one must be the original's last.
// sameFiles returns the name of the copy's first segment.
func sameFiles(t *testing.T, original, copied string) (first string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(copied, "wal", "*.seg"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s has no segments: %v", copied, err)
	}
	for _, name := range names {
		mine, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := os.ReadFile(filepath.Join(original, "wal", filepath.Base(name)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(mine, theirs) {
			t.Errorf("%s differs from the file in %s", name, original)
		}
	}
	if last, _ := filepath.Glob(filepath.Join(original, "wal", "*.seg")); filepath.Base(last[len(last)-1]) != filepath.Base(names[len(names)-1]) {
		t.Errorf("%s ends with the segment %s, %s with %s", copied, names[len(names)-1], original, last[len(last)-1])
	}
	if code, out, words := runProgram(t, "ledgerctl", "wal", "verify", "-dir", copied); code != 0 {
		t.Errorf("ledgerctl wal verify: exit code %d\n%s%s", code, out, words)
	}
	return filepath.Base(names[0])
}

const firstSegment = "00000000000000000001.seg"

// TestMirrors copies a log to a second directory, and from there to a third,
// over connections that are constantly cut and garbled, while each daemon is
// killed repeatedly. In the end all directories must have the same bytes, and
// all daemons must give the same responses. A host that joins late must begin with a
// checkpoint.
func TestMirrors(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := func(name string) string { return filepath.Join(base, name) }
	writer := func() *process {
		return startProcess(t, "ledger-write", "-dir", dir("a"), "-segment-size", "65536")
	}
	w := writer()
	prepared(t, w.url)
	wire := newBadWire(t, w.url)
	wire.cut.Store(60_000)
	reader := func(listen, name, from string) *process {
		return startProcessAt(t, listen, "ledger-read", "-dir", dir(name), "-name", name, "-from", from, "-checkpoint-every", "0")
	}
	atB := etcdtest.FreeAddress(t)
	b := reader(atB, "b", wire.url())
	c := reader("127.0.0.1:0", "c", b.url+","+wire.url())
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	for i := range rounds {
		wire.flip.Store(i%3 == 1)
		commits(t, w.url, 8)
		switch i % 4 {
		case 0:
			w.kill()
			w = writer()
			wire.lead(w.url)
		case 1:
			b.kill()
			b = reader(atB, "b", wire.url())
		case 2:
			c.kill()
			c = reader("127.0.0.1:0", "c", b.url+","+wire.url())
		case 3:
			wire.cutAll()
		}
	}
	end := commits(t, w.url, 3)
	wire.cut.Store(0)
	wire.cutAll()
	if wire.hits.Load() < int64(rounds)/2 {
		t.Errorf("only %d connections were cut", wire.hits.Load())
	}
	local := startProcess(t, "ledger-read", "-dir", dir("a"), "-name", "local", "-checkpoint-every", "300")
	want := arrives(t, local.url, end)
	if got := arrives(t, b.url, end); got != want {
		t.Errorf("b shows\n%s\nbut the source's read daemon\n%s", got, want)
	}
	if got := arrives(t, c.url, end); got != want {
		t.Errorf("c shows\n%s\nbut the source's read daemon\n%s", got, want)
	}
	local.stop(t) // which writes a checkpoint
	a, err := get(http.DefaultClient, w.url+"/v1/health")
	if err != nil || !strings.Contains(a.body, `"mirrors":[{"name":"b","seq":`) {
		t.Errorf("the source's health does not list the mirror b: %s", a.body)
	}
	a, err = get(http.DefaultClient, w.url+"/v1/metrics")
	if err != nil || !strings.Contains(a.body, `asset_ledger_write_mirror_seq{name="b"} `) {
		t.Errorf("the source's metrics don't show the mirror b: %v", err)
	}
	late := reader("127.0.0.1:0", "d", w.url)
	end = commits(t, w.url, 6)
	want = arrives(t, b.url, end)
	if got := arrives(t, late.url, end); got != want {
		t.Errorf("the host that began late shows\n%s\nbut b\n%s", got, want)
	}
	arrives(t, c.url, end)
	for _, p := range []*process{late, c, b, w} {
		p.stop(t)
	}
	for _, name := range []string{"b", "c"} {
		if first := sameFiles(t, dir("a"), dir(name)); first != firstSegment {
			t.Errorf("%s begins with %s, want %s", name, first, firstSegment)
		}
	}
	if first := sameFiles(t, dir("a"), dir("d")); first == firstSegment {
		t.Error("the host that began late did not begin with the checkpoint")
	}
	code, _, words := runProgram(t, "ledger-write", "-dir", dir("b"), "-listen", "127.0.0.1:0")
	if code == 0 || !strings.Contains(words, "is filled from "+wire.url()) {
		t.Errorf("a write daemon on a copy: exit code %d, want a failure that names the source: %s", code, words)
	}
	if code, out, words := runProgram(t, "ledgerctl", "log", "detach", "-dir", dir("b"), "-accept-loss"); code != 0 {
		t.Fatalf("ledgerctl log detach: exit code %d\n%s%s", code, out, words)
	}
	alone := startProcess(t, "ledger-write", "-dir", dir("b"))
	if commits(t, alone.url, 1) <= end {
		t.Error("the copy does not continue where it ended")
	}
	alone.stop(t)
}

// TestMirrorOfRestoredSource restores the source of a mirror from an older
// backup. The mirror must reject the source's new history, report that, and
// continue to serve what it has.
func TestMirrorOfRestoredSource(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := func(name string) string { return filepath.Join(base, name) }
	w := startProcess(t, "ledger-write", "-dir", dir("a"))
	prepared(t, w.url)
	commits(t, w.url, 2)
	if code, out, words := runProgram(t, "ledgerctl", "backup", dir("a"), dir("old")); code != 0 {
		t.Fatalf("ledgerctl backup: exit code %d\n%s%s", code, out, words)
	}
	wire := newBadWire(t, w.url)
	r := startProcess(t, "ledger-read", "-dir", dir("b"), "-from", wire.url(), "-max-silence", "1m")
	end := commits(t, w.url, 4)
	before := arrives(t, r.url, end)
	w.stop(t)
	old := startProcess(t, "ledger-write", "-dir", dir("old"))
	wire.lead(old.url)
	wire.cutAll()
	if commits(t, old.url, 9) <= end {
		t.Fatal("the restored source is too short")
	}
	health := func() answer {
		a, err := get(http.DefaultClient, r.url+"/v1/health")
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	awaits(t, "health is 503", func() bool { return health().status == 503 })
	if a, err := get(http.DefaultClient, r.url+"/v1/readyz"); err != nil || !strings.Contains(a.body, "has a different history") {
		t.Errorf("readyz must report a different history: %s %v", a.body, err)
	}
	if after := arrives(t, r.url, end); after != before {
		t.Errorf("the balances were %s, and are %s", before, after)
	}
	r.stop(t)
	old.stop(t)
	if words := r.words.String(); !strings.Contains(words, "restored from an older backup") || !strings.Contains(words, "there differs from the one here") {
		t.Errorf("the mirror must log that its source was restored, and where it differs: %s", words)
	}
	sameFiles(t, dir("a"), dir("b"))
}

// TestMirrorAsksForTheScope checks that a source with an auth file sends its
// log only to clients with the scope log or admin that are not limited to owners.
func TestMirrorAsksForTheScope(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	auth := filepath.Join(base, "auth")
	token := func(name string, more ...string) string {
		to := filepath.Join(base, name)
		args := append([]string{"token", "new", name, "-auth-file", auth, "-to", to}, more...)
		if code, out, words := runProgram(t, "ledgerctl", args...); code != 0 {
			t.Fatalf("ledgerctl token new: exit code %d\n%s%s", code, out, words)
		}
		return to
	}
	admin, mirrors, readers, some := token("admin", "-scopes", "admin"), token("mirrors", "-scopes", "log"), token("readers", "-scopes", "read"), token("some", "-scopes", "log,read", "-owners", "7")
	w := startProcess(t, "ledger-write", "-dir", filepath.Join(base, "a"), "-auth-file", auth)
	if code, out, words := runProgram(t, "ledgerctl", "register", "class", "1", "Gold", "-write-url", w.url, "-token-file", admin); code != 0 {
		t.Fatalf("ledgerctl register: exit code %d\n%s%s", code, out, words)
	}
	for file, want := range map[string]int{mirrors: 425, admin: 425, readers: 403, some: 403} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]int{"/v1/log?from=100": want, "/v1/checkpoints": map[bool]int{true: 200, false: 403}[want == 425]} {
			req, _ := http.NewRequest("GET", w.url+path, nil)
			req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(text)))
			if a, err := read(http.DefaultClient.Do(req)); err != nil || a.status != want {
				t.Errorf("%s as %s: %d %s, want %d: %v", path, file, a.status, a.body, want, err)
			}
		}
	}
	r := startProcess(t, "ledger-read", "-dir", filepath.Join(base, "b"), "-from", w.url, "-from-token-file", mirrors)
	awaitSeq(t, r.url, 1)
	a, err := get(http.DefaultClient, r.url+"/v1/read/class/1")
	if err != nil || a.status != 200 {
		t.Errorf("the class on the mirror: %+v %v, want 200", a, err)
	}
}
