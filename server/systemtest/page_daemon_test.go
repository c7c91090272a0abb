package systemtest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assetledger/server"
	"assetledger/server/reader"
	"assetledger/server/writer"
)

// daemon checks the view that shows operators the state of the daemons.
func (p *pageTest) daemon(t *testing.T) {
	p.goTo("#/daemon")
	freshness, status := p.ledger.read("/v1/read/freshness"), p.ledger.data("/v1/status")
	at := freshness["freshness"].(object)
	for id, value := range map[string]string{
		"applied": str(at["checkpoint_seq"]), "durable": str(at["commit_log_seq"]), "value-lag": str(freshness["data"].(object)["lag"]) + " commits",
		"value-read": "healthy", "value-write": "healthy",
	} {
		same(t, id, p.text(fmt.Sprintf(`document.querySelector('#%s').textContent`, id)), value)
	}
	log := status["log"].(object)
	same(t, "log", p.text(`document.querySelector('#value-log [title]').title`), str(log["bytes"])+" bytes")
	same(t, "directory", p.facts("#main > .facts")["Directory"], p.ledger.dir)
	same(t, "write daemons", p.rows("section[aria-labelledby=write]"), [][]string{{p.ledger.writer.url, "healthy", "", str(log["end_seq"]), "0"}})
	same(t, "read daemons", p.rows("section[aria-labelledby=readers]"), [][]string{{"read", "this daemon", str(log["end_seq"]), "0"}})
	same(t, "mirrors", p.text(`document.querySelector('section[aria-labelledby=mirrors] p').textContent`), "No copy of the log on another host has reported recently.")
	same(t, "alerts", p.text(`String(document.querySelector('section[aria-labelledby=alerts]'))`), "null")
	shown := map[string]string{}
	for _, row := range p.rows("section[aria-labelledby=metrics]") {
		shown[row[0]] = row[1]
	}
	for name, value := range map[string]string{"asset_ledger_read_lag": "0", "asset_ledger_read_log_damaged": "0", "asset_ledger_read_history_ready": "1"} {
		same(t, name, shown[name], value)
	}
	if seen := shown["asset_ledger_read_visibility_seconds"]; !regexp.MustCompile(`^99 % below [\d.]+ ms$`).MatchString(seen) {
		t.Errorf("visibility is shown as %q, want 99 %% below a number of ms", seen)
	}
	if shown["process_resident_memory_bytes"] < "1" || strings.Contains(shown["process_resident_memory_bytes"], "e") {
		t.Errorf("memory is shown as %q, want a number without an exponent", shown["process_resident_memory_bytes"])
	}
	p.basics()
}

// TestPageWords checks that the page uses the words of the operator's guide for
// normal values and alerts, and shows every metric of a read daemon that the guide
// lists.
func TestPageWords(t *testing.T) {
	rows := map[string][]string{} // rows of the guide's tables as text, by first cell
	link := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	for line := range strings.SplitSeq(text(t, "../../docs/ops.md"), "\n") {
		line = strings.ReplaceAll(link.ReplaceAllString(line, "$1"), "`", "")
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		for name := range strings.SplitSeq(cells[0], ", ") {
			rows[name] = cells[1:]
		}
	}
	// If a line of the guide has metrics of both daemons, the page shows only those
	// of the read daemon.
	quoted := regexp.MustCompile(`'((?:[^'])*)'|"([^"]*)"`)
	words := func(of string) (list []string) {
		for _, m := range quoted.FindAllStringSubmatch(of, -1) {
			list = append(list, m[1]+m[2])
		}
		return list
	}
	view := text(t, "../page/assets/view_daemon.js")
	_, view, _ = strings.Cut(view, "const watched = [")
	view, _, _ = strings.Cut(view, "];")
	known := map[string]bool{}
	for line := range strings.SplitSeq(strings.TrimSpace(view), "\n") {
		w := words(line)
		known[w[0]] = true
		if meant := rows[w[0]]; meant != nil && meant[0] != w[1] {
			t.Errorf("the normal value of %s is %q, but %q in the guide", w[0], w[1], meant[0])
		}
	}
	for name := range rows {
		if strings.HasPrefix(name, "asset_ledger_read_") && !strings.Contains(name, " ") && !known[name] {
			t.Errorf("the page does not show %s", name)
		}
	}
	alerts := text(t, "../page/assets/status.js")
	found := regexp.MustCompile(`(?s)\n  \['(Ledger\w+)',[^\n]*\n    ([^\n]*)\],`).FindAllStringSubmatch(alerts, -1)
	if len(found) < 8 {
		t.Errorf("only %d alerts were found in status.js, want at least 8", len(found))
	}
	for _, f := range found {
		if w, meant := words(f[2]), rows[f[1]]; len(meant) != 2 || len(w) != 2 || meant[0] != w[0] || meant[1] != w[1] {
			t.Errorf("%s: %q, but %q in the guide", f[1], w, meant)
		}
	}
}

// TestPageOfDaemonsInTrouble checks that the operators' view notices by itself when
// the write daemon is gone, even without commits, and finds a new one later. While
// the write daemon is gone, the view shows what is known without it.
func TestPageOfDaemonsInTrouble(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	dir, socket := t.TempDir(), filepath.Join(t.TempDir(), "w")
	write := func() *daemon {
		return startDaemon(t, "the write daemon", func(ctx context.Context, ready readyLine, log *slog.Logger) error {
			c := writer.DefaultConfig()
			c.Dir, c.Listen, c.SegmentSize, c.Ready, c.Log, c.MaxLag = dir, "unix:"+socket, testSegment, ready, log, 1
			return server.RunWrite(ctx, c)
		})
	}
	w := write()
	r := startReader(t, dir, func(c *reader.Config) { c.Page, c.WriteURL = true, "unix:"+socket })
	alone := startReader(t, dir, func(c *reader.Config) { c.Page, c.Name = true, "alone" })
	value := func(id, words string) {
		t.Helper()
		b.until(fmt.Sprintf(`document.querySelector('#value-%s')?.textContent === %q`, id, words))
	}
	b.load(r.url + "/#/daemon")
	value("write", "healthy")
	value("read", "healthy")
	b.until(`document.querySelectorAll('section[aria-labelledby=readers] tbody tr').length === 2`)
	b.until(`document.querySelector('section[aria-labelledby=alerts]') === null`)
	w.stop()
	value("write", "unreachable")
	b.until(`document.querySelector('section[aria-labelledby=alerts] b').textContent === 'LedgerWriteDown'`)
	p := &pageTest{browser: b}
	p.basics()
	p.everyLook(t, "a daemon gone")
	b.goTo("#/")
	b.until(`document.querySelector("#readers")?.textContent === "2 daemons"`)
	w = write()
	b.goTo("#/daemon")
	value("write", "healthy")
	w.stop()
	b.load(alone.url + "/#/daemon")
	value("write", "not asked")
	b.until(`document.querySelector('#value-write').parentNode.textContent.includes('No process on this machine has the log open')`)
	write()
	b.until(`document.querySelector('#value-write').parentNode.textContent.includes('A process on this machine has the log open')`)
	if faults := b.seen(); faults != nil {
		t.Errorf("the console shows %q, want nothing", faults)
	}
}

// everyLook checks the current view in light and dark, and in a narrow and a wide
// window.
func (p *pageTest) everyLook(t *testing.T, view string) {
	t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		p.scheme(scheme)
		p.contrast(t, scheme+" "+view)
		if slices.Contains(axeSchemes(t), scheme) {
			p.axe(t, scheme+" "+view)
		}
	}
	p.scheme("light")
	for _, width := range []int{400, 1200} {
		p.size(width, 800)
		p.fits(t, width)
	}
}

// TestPageRefused checks that views explain what is not ready yet (503 with
// Retry-After) and what is archived (410). What becomes ready must appear by itself.
func TestPageRefused(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	p := &pageTest{browser: b}
	dir, old := t.TempDir(), filepath.Join(t.TempDir(), "old")
	w, r := writeSmall(t, dir), readEvery(t, dir, 20)
	mustCommit(t, w.url, `{"operations":[{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"Gold"}}},{"op":"CreateContainer","args":{"container_id":1,"kind":"Standard","owner":7}}]}`)
	total, made := 0, 1
	add := func(n int) {
		t.Helper()
		for range n {
			mustCommit(t, w.url, fmt.Sprintf(`{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":%d}}],"metadata":{"pad":%q}}`, made, strings.Repeat("p", 4000)))
			total, made = total+made, made+1
		}
		awaitSeq(t, r.url, made)
	}
	add(80)
	awaits(t, "two checkpoints are after a segment, and it is archived", func() bool {
		add(10)
		runProgram(t, "ledgerctl", "wal", "archive", "-dir", dir, "-to", old)
		return len(files(t, old, "", ".seg")) > 0
	})
	// The proxy rejects reads of histories, as a daemon does while its index is being
	// built.
	target, _ := url.Parse(r.url)
	pass := httputil.NewSingleHostReverseProxy(target)
	building := make(chan struct{})
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		select {
		case <-building:
		default:
			if strings.HasSuffix(q.URL.Path, "/history") {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusServiceUnavailable)
				fmt.Fprint(w, `{"error":{"code":"Overloaded","message":"The history index of this read daemon is being built: try again. Other reads are served.","details":{}}}`)
				return
			}
		}
		pass.ServeHTTP(w, q)
	}))
	t.Cleanup(func() {
		proxy.CloseClientConnections() // the stream of commits never ends by itself
		proxy.Close()
	})
	problem := func(words ...string) {
		t.Helper()
		for _, w := range words {
			b.until(fmt.Sprintf(`document.querySelector('.problem')?.textContent.includes(%q)`, w))
		}
		p.basics()
	}
	b.load(proxy.URL + "/#/container/1/history")
	problem("Overloaded", "is being built", "This view retries every second, and appears when it is ready.")
	p.everyLook(t, "503")
	b.goTo("#/container/1")
	b.until(fmt.Sprintf(`document.querySelector('#main tbody tr')?.cells[2].textContent === '%d'`, total)) // other reads are served
	b.goTo("#/container/1/history")
	problem("Overloaded")
	close(building)
	b.until(fmt.Sprintf(`document.querySelector('#main tbody tr')?.cells[5].textContent === '%d'`, total)) // its newest change; how far back the rest goes depends on what was archived
	p.basics()

	// For an archived commit, the page says that it is archived, and links to what
	// still exists.
	b.goTo("#/commit/2")
	problem("CommitArchived", "The first commit here")
	p.everyLook(t, "410")
	b.fill(`document.querySelector('#find-what')`, "2")
	b.until(`[...document.querySelectorAll('#found li')].some((e) => e.textContent === 'commit 2archived')`)
	b.eval(`void (document.querySelector('#find-what').value = '')`, nil)
	b.click(linkNamed(".problem", "The first commit here"))
	b.until(`/^Commit \d+$/.test(document.querySelector('h1')?.textContent) && document.querySelector('.operations') !== null`)
	first := strings.TrimPrefix(b.text(`document.querySelector('h1').textContent`), "Commit ")
	b.goTo("#/container/1?at=2")
	problemOrNote := `(document.querySelector('.problem') ?? document.querySelector('.empty'))?.textContent.includes('archive')`
	b.until(problemOrNote)
	p.basics()
	b.goTo("#/commits?to=" + first)
	b.until(fmt.Sprintf(`document.querySelector('#main tbody a')?.textContent === %q`, first))
	b.until(`document.querySelector('#main').textContent.includes('archived')`)
	p.everyLook(t, "commits up to the archive")
	b.goTo("#/container/1/history?to=" + first)
	b.until(`document.querySelectorAll('#main tbody tr').length === 1`)
	b.click(`document.querySelector('.pager .next')`)
	problem("CommitArchived")

	// The page of a daemon that stops at an earlier commit does not call itself live.
	until := startProcess(t, "ledger-read", "-dir", dir, "-until", fmt.Sprint(made-1))
	b.load(until.url + "/#/")
	b.until(fmt.Sprintf(`document.querySelector('.lead')?.textContent.includes('as it was then, read-only.') && document.querySelector('#pill').textContent === 'as of commit %d'`, made-1))
	same(t, "its commits", b.text(`document.querySelector('#value-applied').parentNode.textContent`), fmt.Sprintf("Commits%dup to then", made-1))
	if faults := b.seen(); faults != nil {
		t.Errorf("the console shows %q, want nothing", faults)
	}
}
