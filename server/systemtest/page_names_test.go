package systemtest

import (
	"fmt"
	"strings"
	"testing"
)

// namesAndHolds checks that names, codes and holds are shown where people look, and
// that the search box finds them.
func (p *pageTest) namesAndHolds(t *testing.T) {
	p.ledger.commit(`{"op":"RegisterClass","args":{"request":{"class_id":700,"code":"EUR/c","name":"Euro","decimals":2}}},
		{"op":"CreateContainer","args":{"container_id":7001,"name":"users/42/wallet","kind":"Standard","owner":42}},
		{"op":"CreateContainer","args":{"container_id":7002,"name":"users/43/wallet","kind":"Standard","owner":43}},
		{"op":"AddFungible","args":{"container_id":7001,"class_id":700,"key":0,"quantity":12345}},
		{"op":"HoldFungible","args":{"hold_id":71,"container_id":7001,"class_id":700,"key":0,"quantity":250,"expires_at":253402300799}},
		{"op":"HoldFungible","args":{"hold_id":7720,"container_id":7001,"class_id":700,"key":0,"quantity":50}}`)
	p.goTo("#/containers?prefix=users/")
	p.until(`document.querySelectorAll('#main tbody tr').length === 2`)
	same(t, "containers by name", p.rows("#main"), [][]string{{"7001", "users/42/wallet", "Standard", "42"}, {"7002", "users/43/wallet", "Standard", "43"}})
	p.basics()
	p.ledger.post("/v1/commit", `{"operations":[{"op":"RenameContainer","args":{"container_id":7002,"name":"users/430/wallet"}}],"idempotency_key":"order 17, again"}`)
	keyed := fmt.Sprint("#/commit/", p.ledger.lastCommitted)
	p.ledger.data("/v1/read/freshness")
	// The search box finds things of every kind, and says what they are.
	for _, by := range []struct{ typed, first, hash string }{
		{"order 17, again", "commit", keyed}, {"199", "commit 199", "#/commit/199"}, {"#1", "instance #1", "#/instance/1"}, {"euro", "class Euro", "#/class/1"},
		{"501", "owner 501", "#/containers?owner=501"}, {"users/43", "container users/430/wallet", "#/container/7002"}, {"7720", "hold 7720", "#/container/7001"},
		{"EUR/c", "class Euro", "#/class/700"}, {"7001", "container users/42/wallet", "#/container/7001"}, {"users/42/wallet", "container users/42/wallet", "#/container/7001"},
	} {
		p.goTo("#/class/4") // which takes less time to draw than the overview
		p.eval(`document.activeElement.blur()`, nil)
		p.key("/")
		p.fill(`document.activeElement`, by.typed)
		p.until(`document.querySelector('#find-what').getAttribute('aria-expanded') === 'true'`)
		if first := p.text(`document.querySelector('#found li').textContent`); !strings.HasPrefix(first, by.first) {
			t.Errorf("%q finds %q first, want %q", by.typed, first, by.first)
		}
		p.basics()
		p.key("Enter")
		p.shows(by.hash)
	}
	// With several results, the arrow keys choose one. If there are none, the list
	// says so. Escape closes the list.
	p.key("/")
	p.fill(`document.activeElement`, "1")
	p.until(`document.querySelectorAll('#found li').length > 2`)
	p.key("ArrowUp")
	chosen := p.text(`document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).textContent`)
	same(t, "chosen", chosen, p.text(`document.querySelector('#found li:last-child').textContent`))
	p.fill(`document.activeElement`, "nothing-is-called-so")
	p.until(`document.querySelector('#found .nothing')?.textContent.startsWith('Nothing here has')`)
	p.key("Enter")
	p.key("Escape")
	p.until(`document.querySelector('#found').hidden`)
	p.eval(`(document.activeElement.value = '', document.activeElement.blur())`, nil)
	p.shows("#/container/7001")
	same(t, "its heading", p.text(`document.querySelector('#main h1').textContent`), "Container users/42/wallet Standard")
	same(t, "its balances", p.rows("section[aria-labelledby=balances]"), [][]string{{"Euro EUR/c", "0", "123.45", "3.00", "12345"}})
	holds := p.rows("section[aria-labelledby=holds]")
	if len(holds) != 2 || holds[0][0] != "71" || holds[0][3] != "2.50" || holds[0][5] == "never" || holds[1][0] != "7720" || holds[1][5] != "never" {
		t.Errorf("its holds are %q, want 71 of 2.50 that expires, and 7720 that never does", holds)
	}
}
