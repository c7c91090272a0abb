package systemtest

import (
	"fmt"
	"strings"
	"testing"
)

// exactNumbers checks quantities that a double can't hold.
func (p *pageTest) exactNumbers(t *testing.T) {
	const most = "9223372036854775807"
	p.ledger.commit(`{"op":"RegisterClass","args":{"request":{"class_id":` + most + `,"name":"Largest <b>&amp; \"quoted\"","decimals":18}}},
		{"op":"CreateContainer","args":{"container_id":` + most + `,"kind":"Standard","owner":9007199254740993}},
		{"op":"AddFungible","args":{"container_id":` + most + `,"class_id":` + most + `,"key":9007199254740993,"quantity":` + most + `}},
		{"op":"RemoveFungible","args":{"container_id":` + most + `,"class_id":` + most + `,"key":9007199254740993,"quantity":1}},
		{"op":"AddFungible","args":{"container_id":` + most + `,"class_id":1,"key":0,"quantity":9007199254740993}}`)
	p.ledger.data("/v1/read/freshness") // waits until the commit can be read
	p.goTo("#/container/" + most)
	p.until(`document.querySelector('table')`)
	same(t, "title", p.text(`document.querySelector('h1').textContent`), "Container "+most+" Standard")
	same(t, "owner", p.facts("#main > .facts")["Owner"], "9007199254740993")
	p.compareBalances(t, most)
	same(t, "by hand", p.rows("#main"), [][]string{{"Euro", "0", "90071992547409.93", "9007199254740993"},
		{`Largest <b>&amp; "quoted"`, "9007199254740993", "9.223372036854775806", "9223372036854775806"}})
	p.follow("#main", `Largest <b>&amp; "quoted"`, "#/class/"+most)
	p.ledger.commit(`{"op":"AddFungible","args":{"container_id":` + most + `,"class_id":` + most + `,"key":1,"quantity":1}},
		{"op":"RemoveFungible","args":{"container_id":` + most + `,"class_id":` + most + `,"key":1,"quantity":1}}`)
	p.until(`document.querySelectorAll('.card .value')[1].textContent === '9.223372036854775808'`)

	p.ledger.post("/v1/commit", `{"operations":[{"op":"CreateContainer","args":{"container_id":7,"kind":"Slots","slot_count":600}}],"metadata":{"9":1.50,"2":1e400,"big":12345678901234567890,"__proto__":{"x":null}}}`)
	seq := fmt.Sprint(p.ledger.lastCommitted)
	p.ledger.data("/v1/read/freshness")
	p.goTo("#/commit/" + seq)
	p.until(`document.querySelector('pre')`)
	same(t, "metadata", strings.Join(strings.Fields(p.text(`document.querySelector('pre').textContent`)), ""),
		`{"9":1.50,"2":1e400,"big":12345678901234567890,"__proto__":{"x":null}}`)
	p.goTo("#/container/7")
	p.follow("#main", "Later slots", "#/container/7?from=512")
	same(t, "the last slot", p.text(`[...document.querySelectorAll('.slot')].at(-1).textContent`), "599empty")
}

// paging pages through more containers than one page holds.
func (p *pageTest) paging(t *testing.T) {
	var ops []string
	for i := range 120 {
		ops = append(ops, fmt.Sprintf(`{"op":"CreateContainer","args":{"container_id":%d,"kind":"Standard","owner":321}}`, 50_000+i))
	}
	p.ledger.commit(strings.Join(ops, ","))
	p.ledger.data("/v1/read/freshness")
	p.goTo("#/containers?owner=321")
	p.until(`document.querySelector('.pager .next')`)
	seen := p.rows("#main")
	for len(seen) < 120 && p.text(`document.querySelector('.pager .next')?.textContent ?? ''`) == "Next page" {
		hash := p.text(`document.querySelector('.pager .next').hash`)
		p.follow("#main", "Next page", hash)
		seen = append(seen, p.rows("#main")...)
	}
	same(t, "containers on all pages", len(seen), 120)
	for i, row := range seen {
		same(t, "a row", row, []string{fmt.Sprint(50_000 + i), "Standard", "321"})
	}
}

// live checks that commits appear by themselves, without disturbing what the
// user is doing.
func (p *pageTest) live(t *testing.T) {
	p.goTo("#/container/1001")
	p.eval(`void document.querySelector('table a').focus()`, nil)
	before := p.text(`document.activeElement.textContent`)
	p.ledger.commit(`{"op":"AddFungible","args":{"container_id":1001,"class_id":1,"key":0,"quantity":1234567}}`)
	p.until(fmt.Sprintf(`document.querySelector('#seq').textContent === '%d'`, p.ledger.lastCommitted))
	p.upToDate("1001")
	p.compareBalances(t, "1001")
	same(t, "focus", p.text(`document.activeElement.textContent`), before)
	p.goTo("#/commits")
	p.ledger.commit(`{"op":"RemoveFungible","args":{"container_id":1001,"class_id":1,"key":0,"quantity":1}}`)
	p.until(fmt.Sprintf(`document.querySelector('tbody a').textContent === '%d'`, p.ledger.lastCommitted))
	p.basics()
	p.goTo("#/")
	for _, n := range []int{7, 3} {
		one := `{"operations":[{"op":"AddFungible","args":{"container_id":1001,"class_id":1,"key":0,"quantity":1}}]}`
		p.ledger.post("/v1/commit/batch", `{"transactions":[`+strings.Repeat(one+",", n-1)+one+`]}`)
		p.until(fmt.Sprintf(`document.querySelector('#value-applied').textContent === '%d'`, p.ledger.lastCommitted))
	}
	p.until(`document.querySelectorAll('.bars .some').length > 1`)
	p.scheme("dark")
	p.contrast(t, "dark overview")
	p.picture("overview-dark")
	p.scheme("light")
}

// upToDate waits until the view of a container shows its last change.
func (p *pageTest) upToDate(id string) {
	p.t.Helper()
	changed := str(p.ledger.data("/v1/read/container/" + id)["updated_seq"])
	p.until(fmt.Sprintf(`document.querySelector('#main > .facts').textContent.includes('Last changedcommit %sHolds')`, changed))
}

// flood makes commits faster than anyone can read them. The page must catch up, and
// must not send more requests than usual.
func (p *pageTest) flood(t *testing.T) {
	p.goTo("#/container/1001")
	p.eval(`performance.clearResourceTimings(); window.floodBegan = performance.now()`, nil)
	one := `{"operations":[{"op":"AddFungible","args":{"container_id":1001,"class_id":1,"key":0,"quantity":1}}]}`
	for range 8 {
		p.ledger.post("/v1/commit/batch", `{"transactions":[`+strings.Repeat(one+",", 2499)+one+`]}`)
	}
	p.until(fmt.Sprintf(`document.querySelector('#seq').textContent === '%d'`, p.ledger.lastCommitted))
	p.upToDate("1001")
	p.compareBalances(t, "1001")
	var asked, most float64
	p.eval(`performance.getEntriesByType('resource').filter((e) => e.name.includes('/v1/read/freshness')).length`, &asked)
	p.eval(`(performance.now() - window.floodBegan) / 1000 + 2`, &most)
	if asked > most {
		t.Errorf("the page requested the freshness %v times, want at most %.1f, about once a second", asked, most)
	}
}

// gone stops the read daemon, and starts another one in its place.
func (p *pageTest) gone(t *testing.T) {
	p.goTo("#/container/1001")
	p.ledger.reader.stop()
	p.until(`!document.querySelector('#banner').hidden`)
	same(t, "the view stays", p.text(`document.querySelector('h1').textContent`), "Container 1001 Standard")
	p.basics()
	p.contrast(t, "daemon gone")
	p.picture("gone")
	p.goTo("#/classes") // can't be loaded now
	same(t, "a new view", p.text(`document.querySelector('.problem .title').textContent`), "No response.")
	p.ledger.startReader()
	p.click(`document.querySelector('#again')`)
	p.until(`document.querySelector('#banner').hidden && document.querySelector('table')`)
	same(t, "said", p.text(`document.querySelector('#said').textContent`), "The read daemon responds again.")
	same(t, "classes again", p.rows("#main")[0][1], "Euro")
}
