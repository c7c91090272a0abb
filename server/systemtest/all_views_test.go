package systemtest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A pageTest is a browser that shows a ledger.
type pageTest struct {
	*browser
	ledger *pageLedger
}

// TestPage visits every view of the page, mostly through links, and compares what
// it shows with the daemon's responses. This test takes longest, and tests start in
// the order of their files' names, so this file has a name that comes first.
func TestPage(t *testing.T) {
	t.Parallel()
	p := startPageTest(t)
	t.Run("empty ledger", p.emptyLedger)
	p.warehouse()
	p.visit(t, []pageVisit{
		{"overview", p.overview}, {"daemon", p.daemon}, {"containers", p.containers}, {"balances", p.balances}, {"slots", p.slots}, {"grid", p.grid},
		{"classes", p.classes}, {"shapes", p.shapes}, {"instance", p.instances}, {"commits", p.commits}, {"refusals", p.refusals},
		{"keyboard", p.keyboard},
		{"history", p.history}, {"past", p.past}, {"holders", p.holders}, {"filters", p.filters}, {"csv", p.csv}, {"enter", p.enter}, {"times", p.times}, {"commands", p.commands},
	})
}

// TestPageChanges looks at views while the ledger changes, and while its read daemon is
// gone.
func TestPageChanges(t *testing.T) {
	t.Parallel()
	p := startPageTest(t)
	p.warehouse()
	p.visit(t, []pageVisit{
		{"exact numbers", p.exactNumbers}, {"long names", p.longNames}, {"paging", p.paging}, {"names and holds", p.namesAndHolds}, {"live", p.live}, {"flood", p.flood}, {"daemon gone", p.gone},
	})
	t.Run("policy", p.policy) // last, because its violations may be reported twice
}

// TestPageLooks draws every view, and checks each with axe-core. Running beside
// TestPage, it takes about as long.
func TestPageLooks(t *testing.T) {
	t.Parallel()
	p := startPageTest(t)
	p.warehouse()
	p.visit(t, []pageVisit{{"axe", p.accessible}, {"pictures", p.pictures}})
}

// startPageTest opens a tab, and starts an empty ledger.
func startPageTest(t *testing.T) *pageTest {
	t.Helper()
	b := startBrowser(t) // first, because it may skip the test
	return &pageTest{browser: b, ledger: startPageLedger(t)}
}

// warehouse fills the ledger, and opens its page.
func (p *pageTest) warehouse() {
	p.t.Helper()
	p.ledger.warehouse()
	p.load(p.ledger.reader.url + "/#/")
	p.until(`document.querySelector('#value-applied')?.textContent === '200' && document.querySelector('#seq').textContent === '200'`)
}

// A pageVisit is a test of some views.
type pageVisit struct {
	name string
	run  func(*testing.T)
}

// visit runs the tests one after another, in one tab. The browser must not report
// any fault.
func (p *pageTest) visit(t *testing.T, visits []pageVisit) {
	t.Helper()
	b, l := p.browser, p.ledger
	for _, v := range visits {
		t.Run(v.name, func(t *testing.T) {
			b.t, l.t = t, t
			v.run(t)
			if faults := b.seen(); faults != nil {
				t.Errorf("the console shows %q, want nothing", faults)
			}
		})
		b.t, l.t = t, t
	}
}

// same compares what is shown with what is expected.
func same(t *testing.T, what string, shown, meant any) {
	t.Helper()
	if diff := cmp.Diff(meant, shown); diff != "" {
		t.Errorf("%s: -want +shown\n%s", what, diff)
	}
}

// rows returns the text of the cells of the tables in an element.
func (p *pageTest) rows(within string) (rows [][]string) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`[...document.querySelector(%q).querySelectorAll('table tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))`, within), &rows)
	return rows
}

// facts returns the names and values of the facts at the head of a view.
func (p *pageTest) facts(within string) (facts map[string]string) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`Object.fromEntries([...document.querySelectorAll(%q)].map((d) => [d.querySelector('dt').textContent, d.querySelector('dd').textContent]))`,
		within+" > div"), &facts)
	return facts
}

// follow clicks the link with the given text, waits for the view at hash, and checks
// the basics there.
func (p *pageTest) follow(within, text, hash string) {
	p.t.Helper()
	p.click(linkNamed(within, text))
	p.shows(hash)
	p.basics()
}

// basics checks what every view needs to be accessible, such as headings, labels,
// names and landmarks.
func (p *pageTest) basics() {
	p.t.Helper()
	var wrong []string
	p.eval(`(() => {
		const wrong = [], all = (s) => [...document.querySelectorAll(s)];
		const named = (e) => (e.getAttribute('aria-label') || e.textContent || '').trim() || (e.labels?.length ? e.labels[0].textContent.trim() : '');
		if (all('h1').length !== 1) wrong.push(all('h1').length + ' h1');
		if (all('main').length !== 1) wrong.push('not one main');
		if (!document.documentElement.lang || !document.title.includes('·')) wrong.push('lang or title: ' + document.title);
		for (const e of all('input, select')) if (!e.labels?.length) wrong.push('no label: ' + e.outerHTML);
		for (const e of all('a, button')) if (!named(e)) wrong.push('no name: ' + e.outerHTML);
		for (const e of all('a')) if (!e.getAttribute('href')) wrong.push('no address: ' + e.outerHTML);
		for (const e of all('svg')) if (!e.closest('[aria-hidden=true]') && !(e.getAttribute('role') && e.getAttribute('aria-label'))) wrong.push('a drawing without a label');
		for (const e of all('nav, form, section')) if (!e.getAttribute('aria-label') && !document.getElementById(e.getAttribute('aria-labelledby'))) wrong.push('a landmark without a name: ' + e.outerHTML.slice(0, 80));
		for (const e of all('table')) if (!e.caption || e.querySelector('th:not([scope])')) wrong.push('a table without caption or scopes');
		const ids = all('[id]').map((e) => e.id), twice = ids.filter((id, i) => ids.indexOf(id) !== i);
		if (twice.length) wrong.push('duplicate ids: ' + twice);
		let level = 0;
		for (const e of all('h1, h2, h3')) { const l = Number(e.nodeName[1]); if (l > level + 1) wrong.push('a heading skips a level: ' + e.textContent); level = l; }
		if (all('nav.sections [aria-current]').length > 1) wrong.push('two current sections');
		for (const e of all('*')) if (e.hasAttribute('style')) wrong.push('inline style');
		return wrong; })()`, &wrong)
	if len(wrong) != 0 {
		p.t.Errorf("%s lacks what every view needs: %q", p.text("location.hash"), wrong)
	}
}
