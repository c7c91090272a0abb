package systemtest

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// holders follows the links from a class to its holders and its instances.
func (p *pageTest) holders(t *testing.T) {
	p.goTo("#/class/4")
	p.follow(".tabs", "Holders", "#/class/4/holders")
	var meant [][]string
	for _, e := range listOf(p.ledger.data("/v1/read/class/4/holders"), "holders") {
		meant = append(meant, []string{str(e["container_id"]), str(e["key"]), str(e["quantity"])})
	}
	same(t, "holders", p.rows("#main"), meant)
	p.fill(`document.querySelector('form[aria-label="Filter this list"] input')`, "7")
	p.key("Enter")
	p.shows("#/class/4/holders?key=7")
	same(t, "holders of key 7", p.rows("#main"), slices.DeleteFunc(slices.Clone(meant), func(row []string) bool { return row[1] != "7" }))
	p.goTo("#/class/5")
	p.follow(".tabs", "Instances", "#/class/5/instances")
	list := listOf(p.ledger.data("/v1/read/class/5/instances?limit=100"), "instances")
	var shown []string
	for i, row := range p.rows("#main") {
		shown = append(shown, row[0]+" "+row[1]+" "+row[3])
		same(t, "an instance", shown[i], fmt.Sprintf("#%s %s %s", list[i]["instance_id"], list[i]["key"], list[i]["minted_seq"]))
		if at, ok := list[i]["location"].(object); ok && !strings.Contains(row[2], str(at["container_id"])) && at["parent_id"] == nil {
			t.Errorf("instance %s is in %v, but shown as %q", list[i]["instance_id"], at, row[2])
		}
	}
	same(t, "instances", len(shown), len(list))
	p.goTo("#/class/5/instances?container=2001")
	same(t, "instances in a container", len(p.rows("#main")), len(listOf(p.ledger.data("/v1/read/class/5/instances?container_id=2001"), "instances")))
	p.goTo("#/class/5/holders")
	same(t, "the wrong kind", p.text(`document.querySelector('.problem code').textContent`), "WrongClassKind")
}

// filters filters the list of commits by each criterion.
func (p *pageTest) filters(t *testing.T) {
	about := func(op object, names ...string) (values []string) {
		args := op["args"].(object)
		if r, ok := args["request"].(object); ok {
			args = r
		}
		for _, name := range names {
			values = append(values, str(args[name]))
		}
		return values
	}
	check := func(hash string, wanted func(op object) bool) {
		t.Helper()
		p.goTo(hash)
		var shown, meant []string
		for _, row := range p.rows("#main") {
			shown = append(shown, row[0])
		}
		for _, c := range listOf(p.ledger.data("/v1/read/commits?order=newest"), "commits") {
			if slices.ContainsFunc(listOf(c, "operations"), wanted) {
				meant = append(meant, str(c["global_seq"]))
			}
		}
		if len(meant) < 2 {
			t.Fatalf("%s: %d commits are too few to prove anything", hash, len(meant))
		}
		same(t, hash, shown, meant)
		p.basics()
	}
	inContainer := func(op object) bool {
		return slices.Contains(about(op, "container_id", "from_container", "to_container", "other_container_id"), "1001")
	}
	check("#/commits?op=transfer", func(op object) bool { return op["op"] == "TransferFungible" })
	check("#/commits?class=4", func(op object) bool { return about(op, "class_id")[0] == "4" })
	check("#/commits?container=1001", inContainer)
	p.goTo("#/commits")
	p.fill(`document.querySelector('form[aria-label="Filter commits"] input[name=container]')`, "1001")
	p.key("Enter")
	p.shows("#/commits?container=1001")
	p.goTo("#/commits?by=nobody")
	same(t, "nobody's", p.text(`document.querySelector('.empty .title').textContent`), "No commit here matches.")
	at := str(p.ledger.data("/v1/read/commit/200")["committed_at"])
	p.goTo("#/commits?since=" + at)
	all := listOf(p.ledger.data("/v1/read/commits?order=newest"), "commits")
	later := slices.DeleteFunc(slices.Clone(all), func(c object) bool { return str(c["committed_at"]) < at })
	same(t, "commits since", len(p.rows("#main")), len(later))
	p.goTo("#/commits?until=2020-01-01T00:00:00Z")
	same(t, "commits before all", p.text(`document.querySelector('.empty .title').textContent`), "No commit here matches.")
	// The last column shows the idempotency key.
	p.goTo("#/commits?to=60")
	row := p.rows("#main")[0]
	same(t, "the key", row[len(row)-1], str(p.ledger.data("/v1/read/commit/60")["metadata"].(object)["idempotency_key"]))
}

// csv saves tables as CSV. The files must have exact numbers, and nothing that a
// spreadsheet would execute.
func (p *pageTest) csv(t *testing.T) {
	p.ledger.commit(`{"op":"RegisterClass","args":{"request":{"class_id":9500,"name":"=1+1, \"quoted\""}}},
		{"op":"CreateContainer","args":{"container_id":9501,"kind":"Standard"}},
		{"op":"AddFungible","args":{"container_id":9501,"class_id":9500,"key":3,"quantity":9007199254740993}},
		{"op":"AddFungible","args":{"container_id":9501,"class_id":1,"key":0,"quantity":123456789}}`)
	p.ledger.data("/v1/read/freshness")
	dir := t.TempDir()
	p.ask("", "Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": dir, "browserContextId": p.context}, nil)
	saved := func(hash, name string) [][]string {
		t.Helper()
		p.goTo(hash)
		p.until(`document.querySelector('.csv')`)
		p.click(`document.querySelector('.csv')`)
		for range 500 {
			if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil && len(text) > 0 {
				rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
				if err != nil {
					t.Fatal(err)
				}
				return rows
			}
			p.eval(`new Promise((done) => setTimeout(() => done(true), 10))`, nil)
		}
		t.Fatalf("%s was not saved", name)
		return nil
	}
	same(t, "balances", saved("#/container/9501", "balances-of-container-9501.csv"), [][]string{
		{"Class", "Key", "Quantity", "Minor units"}, {"Euro", "0", "1234567.89", "123456789"}, {`'=1+1, "quoted"`, "3", "9007199254740993", "9007199254740993"}})
	at := str(p.ledger.data(fmt.Sprintf("/v1/read/commit/%d", p.ledger.lastCommitted))["committed_at"])
	same(t, "a change", saved("#/container/9501/history", "changes-of-container-9501-newest-first.csv")[1],
		[]string{str(p.ledger.lastCommitted), at, "AddFungible", "Euro key 0", "1234567.89", "1234567.89"})
}

// enter opens items in a grid with the Enter key.
func (p *pageTest) enter(t *testing.T) {
	p.goTo("#/container/3001")
	placements := listOf(p.ledger.data("/v1/read/container/3001/grid"), "placements")
	for _, key := range []string{"Home", "End"} {
		p.goTo("#/container/3001")
		p.eval(`document.querySelector('.placement').focus()`, nil)
		p.key(key)
		at := placements[0]
		if key == "End" {
			at = placements[len(placements)-1]
		}
		p.key("Enter")
		if at["instance_id"] != nil {
			p.shows("#/instance/" + str(at["instance_id"]))
		} else {
			p.shows("#/class/" + str(at["class_id"]))
		}
	}
}

// times checks that times are shown relative to now, with the exact time on
// hover.
func (p *pageTest) times(t *testing.T) {
	p.ledger.commit(`{"op":"AddFungible","args":{"container_id":1001,"class_id":1,"key":0,"quantity":1}}`)
	p.ledger.data("/v1/read/freshness")
	p.goTo("#/commits")
	p.until(fmt.Sprintf(`document.querySelector('tbody a').textContent === '%d'`, p.ledger.lastCommitted))
	at := str(p.ledger.data(fmt.Sprintf("/v1/read/commit/%d", p.ledger.lastCommitted))["committed_at"])
	if title := p.text(`document.querySelector('time').title`); !strings.HasSuffix(title, "("+at+")") {
		t.Errorf("pointing at the time shows %q instead of %s", title, at)
	}
	// Relative times advance by themselves, and times long ago are shown as dates. Each
	// check sets the time again, because the view may be refreshed in between.
	p.until(`(document.querySelector('time').dateTime = new Date(Date.now() - 7_300_000).toISOString()) && /^2 h/.test(document.querySelector('time').textContent)`)
	p.until(`(document.querySelector('time').dateTime = '2020-02-03T04:05:06Z') && document.querySelector('time').textContent.startsWith('3 Feb 2020')`)
}
