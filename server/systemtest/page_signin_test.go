package systemtest

import (
	"fmt"
	"path/filepath"
	"testing"

	"assetledger/server/reader"
)

// TestPageSignIn: where the daemon asks who asks, the page asks for a token,
// also one that may not see every commit.
func TestPageSignIn(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	file, dir := filepath.Join(t.TempDir(), "auth"), t.TempDir()
	clientsOf(t, file, "all token-of-all read", "seven token-of-seven read owners=7")
	w := startWriter(t, dir)
	mustCommit(t, w.url, `{"operations":[{"op":"CreateContainer","args":{"container_id":17,"kind":"Standard","owner":7}},`+
		`{"op":"CreateContainer","args":{"container_id":18,"kind":"Standard","owner":8}},`+
		`{"op":"RegisterClass","args":{"request":{"class_id":3,"name":"Ore"}}}]}`)
	r := startReader(t, dir, func(c *reader.Config) { c.Access.AuthFile, c.Page = file, true })
	signIn := func(token string) {
		b.until(`document.querySelector('#sign-in input') !== null`)
		b.eval(fmt.Sprintf(`(() => { const f = document.querySelector('#sign-in'); f.elements.token.value = %q; f.requestSubmit(); return true })()`, token), new(bool))
	}
	const listed = `[...document.querySelectorAll('main table tbody tr')].map((r) => r.cells[0].textContent.trim()).join(' ')`
	b.load(r.url + "/#/containers")
	signIn("token-of-nobody")
	b.until(`document.querySelector('#wrong')?.textContent.startsWith('The token is not')`)
	signIn("token-of-seven")
	b.until(listed + ` === '17'`)
	b.until(`document.querySelector('#seq')?.textContent === '1'`)
	// One owner's token opens every section, though not what all owners did.
	b.goTo("#/")
	b.until(`document.querySelector('#value-applied')?.textContent === '1' && document.querySelector('.empty .title').textContent === 'Not for this token.'`)
	b.goTo("#/commits")
	b.until(`document.querySelector('.problem code')?.textContent === 'Forbidden'`)
	b.goTo("#/class/3")
	b.until(`document.querySelector('h1')?.textContent === 'Ore' && document.querySelector('.card') === null`)
	b.goTo("#/classes")
	b.until(`document.querySelector('main tbody tr')?.cells[3].textContent === '–'`)
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
	b.seen() // refusals of tokens are faults to the console
}
