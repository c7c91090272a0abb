package systemtest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"assetledger/server/reader"
)

// TestPageSignIn checks that the page asks for a token if the daemon requires
// one, and that it works with a token that may not see every commit.
func TestPageSignIn(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	file, dir := filepath.Join(t.TempDir(), "auth"), t.TempDir()
	clientsOf(t, file, "all token-of-all read", "seven token-of-seven read owners=7", "ops token-of-ops read,metrics owners=7")
	w := startWriter(t, dir)
	mustCommit(t, w.url, `{"operations":[{"op":"CreateContainer","args":{"container_id":17,"kind":"Standard","owner":7}},`+
		`{"op":"CreateContainer","args":{"container_id":18,"kind":"Standard","owner":8}},`+
		`{"op":"RegisterClass","args":{"request":{"class_id":3,"name":"Ore"}}}]}`)
	r := startReader(t, dir, func(c *reader.Config) { c.Access.AuthFile, c.Page, c.WriteURL = file, true, w.url })
	p := &pageTest{browser: b}
	signIn := func(token string) {
		b.until(`document.querySelector('#sign-in input') !== null`)
		b.eval(fmt.Sprintf(`(() => { const f = document.querySelector('#sign-in'); f.elements.token.value = %q; f.requestSubmit(); return true })()`, token), new(bool))
	}
	const listed = `[...document.querySelectorAll('main table tbody tr')].map((r) => r.cells[0].textContent.trim()).join(' ')`
	b.load(r.url + "/#/containers")
	signIn("token-of-nobody")
	b.until(`document.querySelector('#wrong')?.textContent.startsWith('The token is unknown')`)
	p.everyLook(t, "a wrong token")
	signIn("token-of-seven")
	b.until(listed + ` === '17'`)
	b.until(`document.querySelector('#seq')?.textContent === '1'`)
	// With a token limited to one owner, every section opens, but shows nothing
	// that other owners did.
	b.goTo("#/")
	b.until(`document.querySelector('#value-applied')?.textContent === '1' && document.querySelector('.empty .title').textContent === 'Hidden from this token.'`)
	b.goTo("#/commits")
	b.until(`document.querySelector('.problem code')?.textContent === 'Forbidden'`)
	b.goTo("#/class/3")
	b.until(`document.querySelector('h1')?.textContent === 'Ore' && document.querySelector('.card') === null`)
	b.goTo("#/classes")
	b.until(`document.querySelector('main tbody tr')?.cells[3].textContent === '–'`)
	// Every view explains in words what the token may not see.
	for _, v := range []struct{ hash, shows string }{
		{"#/", "Hidden from this token."}, {"#/commits", "Forbidden"}, {"#/commit/1", "Forbidden"}, {"#/class/3", "Shapes"}, {"#/class/3/holders", "Forbidden"}, {"#/container/18", "Forbidden"},
		{"#/container/18/history", "Forbidden"}, {"#/container/17/history", "CreateContainer"}, {"#/container/17?at=1", "The past:"}, {"#/daemon", "are shown to tokens with the scope metrics."},
	} {
		b.goTo(v.hash)
		b.until(fmt.Sprintf(`document.querySelector('#main').textContent.includes(%q)`, v.shows))
		p.basics()
		p.everyLook(t, "limited "+v.hash)
	}
	// With a token that has the scope metrics but is limited to an owner, the page shows
	// the daemons, but not their addresses.
	b.eval(`(sessionStorage.setItem('ledger-token', 'token-of-ops'), true)`, new(bool))
	b.goTo("#/")
	b.until(`document.querySelector('#readers')?.textContent === '1 daemon'`)
	b.goTo("#/daemon")
	b.until(`document.querySelector('#value-write')?.textContent === 'healthy'`)
	if shown := b.text(`document.querySelector('#main').textContent`); strings.Contains(shown, dir) || strings.Contains(shown, w.url) || !strings.Contains(shown, "hidden from this token") {
		t.Errorf("a token limited to owners must see no directory or URL, and sees %s", shown)
	}
	p.everyLook(t, "limited daemons")
	b.goTo("#/")
	b.click(`document.querySelector('#sign-out')`)
	b.until(`document.querySelector('#pill').dataset.state === 'locked' && document.querySelector('#banner').hidden && document.querySelector('#sign-out').hidden`)
	if *screenshots != "" {
		savePicture(t, filepath.Join(*screenshots, "sign-in.png"), b.screenshot())
	}
	signIn("token-of-all")
	b.until(`document.querySelector('#sign-in') === null`)
	b.goTo("#/containers")
	b.until(listed + ` === '17 18'`)
	b.eval(`(sessionStorage.clear(), true)`, new(bool))
	b.seen() // the console reports rejected tokens as faults
}
