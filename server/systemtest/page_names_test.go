package systemtest

import "testing"

// namesAndHolds: names and codes stand where people look, and lead somewhere.
func (p *pageTest) namesAndHolds(t *testing.T) {
	p.ledger.commit(`{"op":"RegisterClass","args":{"request":{"class_id":700,"code":"EUR/c","name":"Euro","decimals":2}}},
		{"op":"CreateContainer","args":{"container_id":7001,"name":"users/42/wallet","kind":"Standard","owner":42}},
		{"op":"CreateContainer","args":{"container_id":7002,"name":"users/43/wallet","kind":"Standard","owner":43}},
		{"op":"AddFungible","args":{"container_id":7001,"class_id":700,"key":0,"quantity":12345}},
		{"op":"HoldFungible","args":{"hold_id":71,"container_id":7001,"class_id":700,"key":0,"quantity":250,"expires_at":253402300799}},
		{"op":"HoldFungible","args":{"hold_id":72,"container_id":7001,"class_id":700,"key":0,"quantity":50}}`)
	p.goTo("#/containers?prefix=users/")
	p.until(`document.querySelectorAll('#main tbody tr').length === 2`)
	same(t, "containers by name", p.rows("#main"), [][]string{{"7001", "users/42/wallet", "Standard", "42"}, {"7002", "users/43/wallet", "Standard", "43"}})
	p.basics()
	for _, by := range []struct{ what, id, hash string }{
		{"container", "users/42/wallet", "#/container/users%2F42%2Fwallet"}, {"class", "EUR/c", "#/class/EUR%2Fc"}, {"container", "7001", "#/container/7001"},
	} {
		p.goTo("#/")
		p.eval(`document.querySelector('#find-what').value = '`+by.what+`'`, nil)
		p.fill(`document.querySelector('#find-id')`, by.id)
		p.key("Enter")
		p.shows(by.hash)
		p.basics()
	}
	same(t, "its heading", p.text(`document.querySelector('#main h1').textContent`), "Container users/42/wallet Standard")
	same(t, "its balances", p.rows("section[aria-labelledby=balances]"), [][]string{{"Euro EUR/c", "0", "123.45", "3.00", "12345"}})
	holds := p.rows("section[aria-labelledby=holds]")
	if len(holds) != 2 || holds[0][0] != "71" || holds[0][3] != "2.50" || holds[0][5] == "never" || holds[1][0] != "72" || holds[1][5] != "never" {
		t.Errorf("its holds: %q", holds)
	}
}
