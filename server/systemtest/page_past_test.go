package systemtest

import (
	"fmt"
	"strings"
	"testing"
)

// changes returns the cells that the view of a history should have, without the
// times.
func (p *pageTest) changes(query string) (rows [][]string) {
	p.t.Helper()
	for _, e := range listOf(p.ledger.data("/v1/read/container/"+query), "entries") {
		of, change, after := "the container itself", str(e["change"]), "empty"
		if e["class_id"] != nil {
			of = p.ledger.className(e["class_id"]) + "key " + str(e["key"])
		}
		place := ""
		if e["slot_index"] != nil {
			place = "slot " + str(e["slot_index"])
		} else if e["x"] != nil {
			place = fmt.Sprintf("at %s, %s", e["x"], e["y"])
			if r := str(e["rotation"]); r != "0" && r != "null" {
				place += ", " + r + "°"
			}
		}
		switch {
		case e["instance_id"] != nil:
			of, after = "#"+str(e["instance_id"])+" "+of, place
			if change == "out" {
				after = "gone from " + place
			}
		case e["quantity"] != nil:
			sign, n := "+", change
			if strings.HasPrefix(change, "-") {
				sign, n = "-", change[1:]
			} else if change == "0" {
				sign = ""
			}
			change, after = sign+p.ledger.decimal(n, e["class_id"]), p.ledger.decimal(e["quantity"], e["class_id"])+place
		}
		rows = append(rows, []string{str(e["global_seq"]), str(e["op"]), of, change, after})
	}
	return rows
}

func (p *pageTest) compareChanges(t *testing.T, query string) {
	t.Helper()
	var shown [][]string
	for _, row := range p.rows("#main") {
		shown = append(shown, append(row[:1], row[2:]...))
	}
	same(t, "history of "+query, shown, p.changes(query))
}

// history compares the view of a container's history with the daemon's response: with
// each filter, and on more than one page.
func (p *pageTest) history(t *testing.T) {
	p.goTo("#/container/1001")
	p.follow(".tabs", "History", "#/container/1001/history")
	p.compareChanges(t, "1001/history?limit=100")
	for _, id := range []string{"2001", "3001"} {
		p.goTo("#/container/" + id + "/history")
		p.compareChanges(t, id+"/history?limit=100")
		p.basics()
	}
	// Filters, set by hand and in the URL.
	p.goTo("#/container/3001/history")
	p.fill(`document.querySelector('form[aria-label="Filter changes"] input[name=class]')`, "4")
	p.fill(`document.querySelector('form[aria-label="Filter changes"] input[name=to]')`, "150")
	p.key("Enter")
	p.shows("#/container/3001/history?class=4&to=150")
	p.compareChanges(t, "3001/history?limit=100&class_id=4&to_seq=150")
	p.basics()
	p.goTo("#/container/2001/history?instance=1")
	p.compareChanges(t, "2001/history?limit=100&instance_id=1")
	at := str(p.ledger.data("/v1/read/commit/150")["committed_at"])
	p.goTo("#/container/3001/history?from=" + at)
	p.compareChanges(t, "3001/history?limit=100&from_time="+at)
	p.goTo("#/container/3001/history?key=123456")
	same(t, "nothing", p.text(`document.querySelector('.empty .title').textContent`), "No change matches.")

	// More changes than one page holds.
	p.ledger.commit(`{"op":"RegisterClass","args":{"request":{"class_id":9401,"name":"Plenty","decimals":2}}},{"op":"CreateContainer","args":{"container_id":9400,"kind":"Standard","owner":9}}` +
		strings.Repeat(`,{"op":"AddFungible","args":{"container_id":9400,"class_id":9401,"key":0,"quantity":9007199254740993}}`, 130))
	p.goTo("#/container/9400/history")
	p.until(`document.querySelectorAll('#main tbody tr').length === 100`)
	seen := p.rows("#main")
	same(t, "the newest", seen[0][5], "11709359031163290.90") // 130 times a quantity that a double can't hold
	p.follow("#main", "Next page", p.text(`document.querySelector('.pager .next').hash`))
	seen = append(seen, p.rows("#main")...)
	same(t, "changes on all pages", len(seen), 131)
	same(t, "the first", seen[130][2:], []string{"CreateContainer", "the container itself", "created", "empty"})
}

// past shows a container as of earlier commits.
func (p *pageTest) past(t *testing.T) {
	p.goTo("#/container/1001/history")
	seq := p.rows("#main")[2][0]
	p.click(`document.querySelectorAll('#main tbody tr')[2].querySelector('td:last-child a')`)
	p.shows("#/container/1001?at=" + seq)
	meant := func(query string) (rows [][]string) {
		for _, b := range listOf(p.ledger.read("/v1/read/container/1001/balances?"+query), "balances") {
			rows = append(rows, []string{p.ledger.className(b["class_id"]), str(b["key"]), p.ledger.decimal(b["quantity"], b["class_id"]), str(b["quantity"])})
		}
		return rows
	}
	same(t, "balances then", p.rows("#main"), meant("at_seq="+seq))
	if now := meant(""); len(now) == len(meant("at_seq=100")) && fmt.Sprint(now) == fmt.Sprint(meant("at_seq=100")) {
		t.Fatal("nothing changed since commit 100, so this proves nothing")
	}
	p.fill(`document.querySelector('.past input')`, "100")
	p.key("Enter")
	p.shows("#/container/1001?at=100")
	p.basics()
	same(t, "balances after commit 100", p.rows("#main"), meant("at_seq=100"))
	if note := p.text(`document.querySelector('.past p').textContent`); !strings.HasPrefix(note, "The past: as it was after commit 100,") {
		t.Errorf("the note about the past is %q, want commit 100 in it", note)
	}
	// The past step by step, by time, and before the container existed.
	changed := asInt(p.ledger.data("/v1/read/container/1001?at_seq=100")["updated_seq"])
	p.follow(".past", "Before its last change", fmt.Sprintf("#/container/1001?at=%d", changed-1))
	same(t, "balances before", p.rows("#main"), meant(fmt.Sprintf("at_seq=%d", changed-1)))
	p.follow(".past", "Now", "#/container/1001")
	p.compareBalances(t, "1001")
	at, then := str(p.ledger.data("/v1/read/commit/200")["committed_at"]), meant("at_seq=200")
	p.ledger.commit(`{"op":"AddFungible","args":{"container_id":1001,"class_id":1,"key":0,"quantity":4200}}`)
	p.goTo("#/container/1001?at=" + at)
	same(t, "balances by time", p.rows("#main"), then)
	p.goTo("#/container/1001")
	p.compareBalances(t, "1001") // which have changed by now
	if fmt.Sprint(then) == fmt.Sprint(p.rows("#main")) {
		t.Error("a past time shows the present")
	}
	p.goTo("#/container/1001?at=1")
	same(t, "before it was made", p.text(`document.querySelector('.empty').textContent`), "Not at that time.There is no container 1001 as of commit 1.")
	p.basics()
	for _, id := range []string{"2001", "3001"} {
		p.goTo("#/container/" + id + "?at=120")
		c := p.ledger.data("/v1/read/container/" + id + "?at_seq=120")
		same(t, "last changed", p.facts("#main > .facts")["Last changed"], "commit "+str(c["updated_seq"]))
		p.basics()
	}
	var shown int
	p.eval(`document.querySelectorAll('.placement').length`, &shown)
	same(t, "placements then", shown, len(listOf(p.ledger.data("/v1/read/container/3001/grid?at_seq=120"), "placements")))
	// A time without a zone is in the user's own zone, which is UTC here.
	p.fill(`document.querySelector('.past input')`, "2026-01-31 12:00")
	p.key("Enter")
	p.shows("#/container/3001?at=2026-01-31T12%3A00%3A00.000Z")
}
