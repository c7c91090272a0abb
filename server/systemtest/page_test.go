package systemtest

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var screenshots = flag.String("screenshots", "", "directory to write pictures of the page to, such as ../../docs/page")

// A pageTest is a browser that looks at a ledger.
type pageTest struct {
	*browser
	ledger *pageLedger
}

// TestPage goes through every view of the page, by its links, and compares
// what it shows with what the daemon answers.
func TestPage(t *testing.T) {
	b := startBrowser(t) // first, for it may skip
	l := startPageLedger(t)
	p := &pageTest{browser: b, ledger: l}
	t.Run("empty ledger", p.emptyLedger)
	l.warehouse()
	p.load(l.reader.url + "/#/")
	p.until(`document.querySelector('#value-applied')?.textContent === '200' && document.querySelector('#seq').textContent === '200'`)
	for _, step := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"overview", p.overview}, {"containers", p.containers}, {"balances", p.balances}, {"slots", p.slots}, {"grid", p.grid},
		{"classes", p.classes}, {"shapes", p.shapes}, {"instance", p.instances}, {"commits", p.commits}, {"refusals", p.refusals},
		{"keyboard", p.keyboard}, {"axe", p.accessible}, {"pictures", p.pictures}, {"exact numbers", p.exactNumbers}, {"long names", p.longNames}, {"paging", p.paging}, {"live", p.live}, {"flood", p.flood}, {"daemon gone", p.gone},
	} {
		t.Run(step.name, func(t *testing.T) {
			b.t, l.t = t, t
			step.run(t)
			if faults := b.seen(); faults != nil {
				t.Errorf("the console says %q", faults)
			}
		})
		b.t, l.t = t, t
	}
	t.Run("policy", p.policy) // last, for what it does wrong may be noticed twice
}

// same compares what is shown with what is meant.
func same(t *testing.T, what string, shown, meant any) {
	t.Helper()
	if diff := cmp.Diff(meant, shown); diff != "" {
		t.Errorf("%s: -meant +shown\n%s", what, diff)
	}
}

// rows is the text of the cells of the first table.
func (p *pageTest) rows(within string) (rows [][]string) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`[...document.querySelector(%q).querySelectorAll('table tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))`, within), &rows)
	return rows
}

// facts is the names and values of the facts at the head of a view.
func (p *pageTest) facts(within string) (facts map[string]string) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`Object.fromEntries([...document.querySelectorAll(%q)].map((d) => [d.querySelector('dt').textContent, d.querySelector('dd').textContent]))`,
		within+" > div"), &facts)
	return facts
}

// follow clicks the link of that text and waits for its view, whose basics it checks.
func (p *pageTest) follow(within, text, hash string) {
	p.t.Helper()
	p.click(linkNamed(within, text))
	p.shows(hash)
	p.basics()
}

func (p *pageTest) emptyLedger(t *testing.T) {
	p.load(p.ledger.reader.url + "/")
	p.basics()
	for hash, words := range map[string]string{
		"#/": "The ledger is empty.", "#/containers": "There are no containers yet.", "#/classes": "No class is registered yet.", "#/commits": "There are no commits here.",
	} {
		p.goTo(hash)
		if shown := p.text(`document.querySelector('.empty .title').textContent`); shown != words {
			t.Errorf("%s says %q", hash, shown)
		}
		p.basics()
	}
}

func (p *pageTest) overview(t *testing.T) {
	freshness := p.ledger.read("/v1/read/freshness")
	for id, value := range map[string]any{
		"applied": freshness["freshness"].(object)["checkpoint_seq"], "durable": freshness["freshness"].(object)["commit_log_seq"], "lag": freshness["data"].(object)["lag"],
	} {
		same(t, id, p.text(fmt.Sprintf(`document.querySelector('#value-%s').textContent`, id)), str(value))
	}
	same(t, "the header", p.text(`document.querySelector('#seq').textContent`), "200")
	var shown []string
	for _, row := range p.rows("#main") {
		shown = append(shown, row[0])
	}
	same(t, "latest commits", shown, []string{"200", "199", "198", "197", "196", "195", "194", "193"})
	p.basics()
}

func (p *pageTest) containers(t *testing.T) {
	check := func(query string) {
		t.Helper()
		var meant [][]string
		for _, c := range listOf(p.ledger.data("/v1/read/containers?limit=50&"+query), "containers") {
			owner := str(c["owner"])
			if c["owner"] == nil {
				owner = "nobody"
			}
			meant = append(meant, []string{str(c["container_id"]), str(c["kind"]), owner})
		}
		same(t, "containers "+query, p.rows("#main"), meant)
	}
	p.follow("nav.sections", "Containers", "#/containers")
	check("")
	p.fill(`document.querySelector('form[aria-label="Filter containers"] input')`, "501")
	p.key("Enter")
	p.shows("#/containers?owner=501")
	check("owner=501")
	p.goTo("#/containers?kind=Grid")
	check("kind=Grid")
	p.basics()
	p.goTo("#/containers?owner=77")
	same(t, "nothing found", p.text(`document.querySelector('.empty .title').textContent`), "No container is like that.")
	p.follow("#main", "Show all containers", "#/containers")
	p.fill(`document.querySelector('form[aria-label="Open a container"] input')`, "1001")
	p.key("Enter")
	p.shows("#/container/1001")
}

// head compares the facts of a container.
func (p *pageTest) head(t *testing.T, id string) object {
	t.Helper()
	c := p.ledger.data("/v1/read/container/" + id)
	f := p.facts("#main > .facts")
	owner := str(c["owner"])
	if c["owner"] == nil {
		owner = "nobody"
	}
	same(t, "owner", f["Owner"], owner)
	same(t, "created", f["Created"], "commit "+str(c["created_seq"]))
	same(t, "changed", f["Last changed"], "commit "+str(c["updated_seq"]))
	return c
}

func (p *pageTest) compareBalances(t *testing.T, id string) {
	t.Helper()
	var meant [][]string
	for _, b := range listOf(p.ledger.read("/v1/read/container/"+id+"/balances"), "balances") {
		meant = append(meant, []string{p.ledger.className(b["class_id"]), str(b["key"]), p.ledger.decimal(b["quantity"], b["class_id"]), str(b["quantity"])})
	}
	same(t, "balances of "+id, p.rows("#main"), meant)
}

func (p *pageTest) balances(t *testing.T) {
	p.head(t, "1001")
	p.compareBalances(t, "1001")
	p.basics()
}

func (p *pageTest) slots(t *testing.T) {
	p.goTo("#/containers?kind=Slots")
	p.follow("#main", "2001", "#/container/2001")
	c := p.head(t, "2001")
	var shown, meant []string
	p.eval(`[...document.querySelectorAll('.slot')].map((s) => s.textContent)`, &shown)
	for i := range asInt(c["slot_count"]) {
		meant = append(meant, fmt.Sprintf("%dempty", i))
	}
	for _, s := range listOf(p.ledger.data("/v1/read/container/2001/slots"), "slots") {
		i := asInt(s["slot_index"])
		meant[i] = fmt.Sprintf("%d#%s%skey %s", i, s["instance_id"], p.ledger.className(s["class_id"]), s["key"])
	}
	same(t, "slots", shown, meant)
}

func asInt(v any) (n int) {
	fmt.Sscan(str(v), &n)
	return n
}

func (p *pageTest) grid(t *testing.T) {
	p.goTo("#/containers?kind=Grid")
	p.follow("#main", "3001", "#/container/3001")
	p.head(t, "3001")
	grid := p.ledger.data("/v1/read/container/3001/grid")
	var shown, meant [][]string
	p.eval(`[...document.querySelectorAll('.placement')].map((g) => [g.dataset.x, g.dataset.y, g.dataset.w, g.dataset.h, g.getAttribute('aria-label')])`, &shown)
	placements := listOf(grid, "placements")
	for _, at := range placements {
		what := p.ledger.decimal(str(at["quantity"]), at["class_id"])
		if at["instance_id"] != nil {
			what = "#" + str(at["instance_id"])
		}
		meant = append(meant, []string{str(at["x"]), str(at["y"]), str(at["width"]), str(at["height"]),
			fmt.Sprintf("%s %s, at %s, %s, %s by %s cells", p.ledger.className(at["class_id"]), what, at["x"], at["y"], at["width"], at["height"])})
	}
	same(t, "placements", shown, meant)
	p.drawnToScale(t, asInt(grid["grid_width"]))
	p.compareBalances(t, "3001")

	p.hover(`document.querySelectorAll('.placement')[3]`)
	p.until(`document.querySelector('#details dd')`)
	same(t, "details", p.facts("#details .facts")["Anchor"], fmt.Sprintf("%s, %s", placements[3]["x"], placements[3]["y"]))
	p.eval(`document.querySelector('.placement').focus()`, nil)
	p.key("ArrowRight")
	same(t, "right of the first", p.facts("#details .facts")["Anchor"], fmt.Sprintf("%s, %s", placements[1]["x"], placements[1]["y"]))
	p.key("End")
	same(t, "the last", p.facts("#details .facts")["Instance"], "#"+str(placements[len(placements)-1]["instance_id"]))
	var stops int
	p.eval(`document.querySelectorAll('.placement[tabindex="0"]').length`, &stops)
	same(t, "stops of the Tab key in the drawing", stops, 1)
}

// drawnToScale compares the sizes and places of rectangles on the screen with their cells.
func (p *pageTest) drawnToScale(t *testing.T, width int) {
	t.Helper()
	var worst float64
	p.eval(fmt.Sprintf(`(() => {
		const ground = document.querySelector('.ground').getBoundingClientRect(), cell = ground.width / %d;
		return Math.max(...[...document.querySelectorAll('.placement')].map((g) => {
			const r = g.querySelector('rect').getBoundingClientRect(), d = g.dataset;
			return Math.max(Math.abs((r.x - ground.x) / cell - d.x), Math.abs((r.y - ground.y) / cell - d.y), Math.abs(r.width / cell - d.w), Math.abs(r.height / cell - d.h));
		}));
	})()`, width), &worst)
	if worst > 0.15 {
		t.Errorf("a placement is drawn %.2f cells off", worst)
	}
}

func (p *pageTest) classes(t *testing.T) {
	p.follow("nav.sections", "Classes", "#/classes")
	var meant [][]string
	for _, c := range listOf(p.ledger.data("/v1/read/classes"), "classes") {
		stats := p.ledger.data("/v1/read/class/" + str(c["class_id"]) + "/stats")
		row := []string{str(c["class_id"]), str(c["name"]), "instances", str(stats["instances_live"]), str(stats["containers"])}
		if c["fungible"] == true {
			row[2], row[3] = "stacks", p.ledger.decimal(stats["total_quantity"], c["class_id"])
		}
		meant = append(meant, row)
	}
	same(t, "classes", p.rows("#main"), meant)
	p.follow("#main", "Forklift", "#/class/5")
	var values []string
	p.eval(`[...document.querySelectorAll('.card .value')].map((v) => v.textContent)`, &values)
	stats := p.ledger.data("/v1/read/class/5/stats")
	same(t, "instances", values, []string{str(stats["instances_live"]), str(stats["instances_minted"]), str(stats["instances_burned"])})
}

func (p *pageTest) shapes(t *testing.T) {
	p.goTo("#/classes")
	p.follow("#main", "Crate", "#/class/4")
	stats := p.ledger.data("/v1/read/class/4/stats")
	var values, shown, meant []string
	p.eval(`[...document.querySelectorAll('.card .value')].map((v) => v.textContent)`, &values)
	same(t, "totals", values, []string{str(stats["total_quantity"]), str(stats["total_added"]), str(stats["total_removed"])})
	p.eval(`[...document.querySelectorAll('.shapes li')].map((s) => {
		const r = s.querySelector('rect').getBoundingClientRect(), unit = 22;
		return s.textContent + ' drawn ' + Math.round(r.width / unit) + ' × ' + Math.round(r.height / unit); })`, &shown)
	for _, s := range listOf(p.ledger.data("/v1/read/class/4/shapes"), "shapes") {
		key := "key " + str(s["key"])
		if s["key"] == nil {
			key = "every other key"
		}
		meant = append(meant, fmt.Sprintf("%s × %s%s drawn %s × %s", s["width"], s["height"], key, s["width"], s["height"]))
	}
	same(t, "shapes", shown, meant)
}

func (p *pageTest) instances(t *testing.T) {
	p.goTo("#/container/2001")
	p.follow("#main", "#1", "#/instance/1")
	parent := p.ledger.data("/v1/read/instance/1")
	child := str(parent["children"].([]any)[0])
	f := p.facts("#main > .facts")
	same(t, "class", f["Class"], p.ledger.className(parent["class_id"]))
	same(t, "place", f["Place"], fmt.Sprintf("slot %s of container %s", parent["location"].(object)["slot_index"], parent["location"].(object)["container_id"]))
	same(t, "minted", f["Minted"], "commit "+str(parent["minted_seq"]))
	p.follow(".tree", "#"+child, "#/instance/"+child)
	same(t, "place of the child", p.facts("#main > .facts")["Place"], "attached to #1")
	same(t, "where it stands in the tree", p.text(`document.querySelector('.tree [aria-current]').textContent`), "#"+child)
	p.follow(".tree", "#1", "#/instance/1")
	in := p.ledger.data("/v1/read/instance/16")["location"].(object)
	p.goTo("#/instance/16")
	place := fmt.Sprintf("at %s, %s", in["x"], in["y"])
	if str(in["rotation"]) != "0" {
		place += fmt.Sprintf(", turned %s°", in["rotation"])
	}
	same(t, "place in a grid", p.facts("#main > .facts")["Place"], place+" in container "+str(in["container_id"]))
}

func (p *pageTest) commits(t *testing.T) {
	p.follow("nav.sections", "Commits", "#/commits")
	var shown, meant []string
	for _, row := range p.rows("#main") {
		shown = append(shown, row[0]+" "+row[2])
	}
	for _, c := range listOf(p.ledger.data("/v1/read/commits?after=150"), "commits") {
		meant = append(meant, str(c["global_seq"]))
	}
	slices.Reverse(meant)
	for i := range min(len(shown), len(meant)) {
		seq, _, _ := strings.Cut(shown[i], " ")
		same(t, "a commit of the feed", seq, meant[i])
	}
	same(t, "commits on a page", len(shown), len(meant))
	p.follow("#main", "Earlier", "#/commits?to=150")
	same(t, "first of the next page", p.rows("#main")[0][0], "150")
	p.goTo("#/commits")
	p.follow("#main", "199", "#/commit/199")
	c := p.ledger.data("/v1/read/commit/199")
	f := p.facts("#main > .facts")
	same(t, "time", f["Exactly"], str(c["committed_at"]))
	same(t, "place in its batch", f["In its batch"], "number "+str(c["batch_seq"]))
	var ops []string
	p.eval(`[...document.querySelectorAll('.operations li')].map((o) => o.querySelector('h3').textContent + [...o.querySelectorAll('dl > div')].map((d) => ' ' + d.children[0].textContent + '=' + d.children[1].textContent).join(''))`, &ops)
	for i, op := range listOf(c, "operations") {
		args := op["args"].(object)
		meant := str(op["op"])
		if !strings.HasPrefix(ops[i], meant+" ") {
			t.Errorf("operation %d is shown as %q, and is %q", i, ops[i], meant)
		}
		for name, value := range args {
			want := str(value)
			switch {
			case name == "class_id":
				want = p.ledger.className(value)
			case name == "quantity":
				want = p.ledger.decimal(value, args["class_id"])
			}
			if !strings.Contains(ops[i]+" ", " "+name+"="+want+" ") {
				t.Errorf("operation %d is shown as %q, without %s=%s", i, ops[i], name, want)
			}
		}
	}
	p.follow("#main", "Commit 198", "#/commit/198")
	p.follow("#main", "Commit 199", "#/commit/199")
}

func (p *pageTest) refusals(t *testing.T) {
	for hash, words := range map[string][2]string{
		"#/container/5":                    {"ContainerNotFound", "There is no container 5."},
		"#/instance/99999":                 {"InstanceNotFound", "There is no instance 99999."},
		"#/class/9223372036854775807":      {"ClassNotFound", "There is no class 9223372036854775807."},
		"#/container/one":                  {"InvalidParameter", "The id in the path must be an integer"},
		"#/containers?owner=no":            {"InvalidParameter", "The query parameter owner must be"},
		"#/container/%3Cimg%20src%3Dx%3E":  {"InvalidParameter", "<img src=x>"},
		"#/container/1/../../../v1/health": {"", "There is no such page."},
		"#/nonsense":                       {"", "There is no such page."},
	} {
		p.goTo(hash)
		shown := p.text(`document.querySelector('.problem').textContent`)
		if !strings.Contains(shown, words[0]) || !strings.Contains(shown, words[1]) {
			t.Errorf("%s shows %q", hash, shown)
		}
		if !strings.HasSuffix(hash, "nonsense") && words[0] != "" {
			p.basics()
		}
	}
}

// keyboard goes about without a mouse.
func (p *pageTest) keyboard(t *testing.T) {
	p.load(p.ledger.reader.url + "/?keyboard#/")
	focused := func() string {
		return p.text(`document.activeElement.textContent.trim() || document.activeElement.name || document.activeElement.id`)
	}
	var order []string
	for range 9 {
		p.key("Tab")
		order = append(order, focused())
	}
	same(t, "order of the Tab key", order[:6], []string{"Skip to the content", "Asset ledger", "Overview", "Containers", "Classes", "Commits"})
	same(t, "the search", order[7:], []string{"id", "Find"})
	p.eval(`document.querySelector('#skip').focus()`, nil)
	p.key("Enter")
	same(t, "after skipping", p.text(`document.activeElement.id`), "main")
	p.eval(`document.querySelector('nav.sections a[data-section=classes]').focus()`, nil)
	p.key("Enter")
	p.shows("#/classes")
	same(t, "focus in a new view", p.text(`document.activeElement.nodeName + ' ' + document.activeElement.textContent`), "H1 Classes")
	p.eval(`document.querySelector('#find-what').value = 'instance'`, nil)
	p.fill(`document.querySelector('#find-id')`, "1")
	p.key("Enter")
	p.shows("#/instance/1")
	for range 40 {
		p.key("Tab")
		var visible bool
		p.eval(`(() => { const e = document.activeElement; if (e === document.body) return true;
			const s = getComputedStyle(e), r = e.getBoundingClientRect(); return r.width > 0 && (s.outlineStyle !== 'none' || e.matches('.placement')); })()`, &visible)
		if !visible {
			t.Errorf("focus can't be seen on %q", focused())
		}
	}
}

// pageViews are all views of the page.
var pageViews = []struct{ name, hash string }{
	{"overview", "#/"}, {"containers", "#/containers"}, {"balances", "#/container/1001"}, {"slots", "#/container/2001"}, {"grid", "#/container/3001"},
	{"classes", "#/classes"}, {"class", "#/class/4"}, {"instance", "#/instance/1"}, {"commits", "#/commits"}, {"commit", "#/commit/199"}, {"missing", "#/container/5"},
}

// pictures writes screenshots if asked to, and looks at contrast and overflow in both schemes and three widths.
func (p *pageTest) pictures(t *testing.T) {
	for _, scheme := range []string{"light", "dark"} {
		p.scheme(scheme)
		for _, v := range pageViews {
			p.goTo(v.hash)
			if v.name == "grid" {
				p.hover(`document.querySelectorAll('.placement')[2]`)
				p.eval(`window.scrollTo(0, 0)`, nil)
			}
			p.contrast(t, scheme+" "+v.name)
			if scheme == "light" || v.name == "grid" || v.name == "slots" {
				p.picture(v.name + "-" + scheme)
			}
		}
	}
	p.scheme("light")
	for _, width := range []int{360, 768} {
		p.size(width, 800)
		for _, v := range pageViews {
			p.goTo(v.hash)
			p.fits(t, width)
			if width == 360 && v.name == "grid" {
				p.picture("narrow")
			}
		}
	}
	p.size(1200, 800)
}

// axeFile is the environment variable that names axe.min.js of axe-core.
const axeFile = "LEDGER_TEST_AXE"

// accessible has axe-core find what keeps people out of each view, in both schemes.
func (p *pageTest) accessible(t *testing.T) {
	source, err := os.ReadFile(os.Getenv(axeFile))
	if err != nil {
		t.Skipf("NOT TESTED: the page with axe-core; set %s to its axe.min.js (npm pack axe-core)", axeFile)
	}
	for _, scheme := range []string{"light", "dark"} {
		p.scheme(scheme)
		for _, v := range pageViews {
			p.goTo(v.hash)
			p.eval(string(source)+"; undefined", nil)
			var found []string
			p.eval(`axe.run(document, {rules: {'label-content-name-mismatch': {enabled: true}}}).then((r) => r.violations.map((v) => v.id + ': ' + v.nodes[0].html))`, &found)
			for _, f := range found {
				t.Errorf("%s, %s: %s", v.name, scheme, f)
			}
		}
	}
	p.scheme("light")
}

// fits checks that nothing in the view is wider than the window.
func (p *pageTest) fits(t *testing.T, width int) {
	t.Helper()
	var over int
	p.eval(`document.documentElement.scrollWidth - document.documentElement.clientWidth`, &over)
	if over > 0 {
		t.Errorf("%s is %d pixels wider than a window of %d", p.text("location.hash"), over, width)
	}
}

// longNames shows a name that can't be broken at a space.
func (p *pageTest) longNames(t *testing.T) {
	p.ledger.commit(`{"op":"RegisterClass","args":{"request":{"class_id":77,"name":"` + strings.Repeat("Unbroken", 14) + `"}}},
		{"op":"RegisterClassShape","args":{"request":{"class_id":77,"width":2,"height":1}}},
		{"op":"CreateContainer","args":{"container_id":79,"kind":"Grid","grid_width":100,"grid_height":3}},
		{"op":"AddFungible","args":{"container_id":79,"class_id":77,"key":9223372036854775807,"quantity":9223372036854775807}}`)
	commit := fmt.Sprint("#/commit/", p.ledger.lastCommitted)
	p.ledger.data("/v1/read/freshness")
	for _, width := range []int{360, 1200} {
		p.size(width, 800)
		for _, hash := range []string{"#/", "#/container/79", "#/classes", "#/class/77", "#/commits", commit} {
			p.goTo(hash)
			p.until(`document.body.innerText.includes('Unbroken')`)
			p.fits(t, width)
		}
	}
	// In a grid of many columns the numbers of its axes are still to be read.
	p.goTo("#/container/79")
	var height float64
	p.eval(`document.querySelector('.axis').getBoundingClientRect().height`, &height)
	if height < 8 {
		t.Errorf("the axes of a large grid are %.1f pixels high", height)
	}
}

// exactNumbers shows what a double can't hold.
func (p *pageTest) exactNumbers(t *testing.T) {
	const most = "9223372036854775807"
	p.ledger.commit(`{"op":"RegisterClass","args":{"request":{"class_id":` + most + `,"name":"Largest <b>&amp; \"quoted\"","decimals":18}}},
		{"op":"CreateContainer","args":{"container_id":` + most + `,"kind":"Standard","owner":9007199254740993}},
		{"op":"AddFungible","args":{"container_id":` + most + `,"class_id":` + most + `,"key":9007199254740993,"quantity":` + most + `}},
		{"op":"RemoveFungible","args":{"container_id":` + most + `,"class_id":` + most + `,"key":9007199254740993,"quantity":1}},
		{"op":"AddFungible","args":{"container_id":` + most + `,"class_id":1,"key":0,"quantity":9007199254740993}}`)
	p.ledger.data("/v1/read/freshness") // waits until it is readable
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

// paging goes through more containers than a page has.
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

// live sees commits come without being asked, and keeps what the reader does.
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

// flood commits faster than anyone reads: the page must come to the end of it,
// and must not ask more often because of it.
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
		t.Errorf("asked for freshness %v times where once a second is %.1f", asked, most)
	}
}

// gone stops the daemon, and starts another in its place.
func (p *pageTest) gone(t *testing.T) {
	p.goTo("#/container/1001")
	p.ledger.reader.stop()
	p.until(`!document.querySelector('#banner').hidden`)
	same(t, "the view stays", p.text(`document.querySelector('h1').textContent`), "Container 1001 Standard")
	p.basics()
	p.contrast(t, "daemon gone")
	p.picture("gone")
	p.goTo("#/classes") // can't be loaded now
	same(t, "a new view", p.text(`document.querySelector('.problem .title').textContent`), "No answer.")
	p.ledger.startReader()
	p.click(`document.querySelector('#again')`)
	p.until(`document.querySelector('#banner').hidden && document.querySelector('table')`)
	same(t, "said", p.text(`document.querySelector('#said').textContent`), "The read daemon answers again.")
	same(t, "classes again", p.rows("#main")[0][1], "Euro")
}

// policy does what the page may not, so that it is sure that this would have been noticed.
func (p *pageTest) policy(t *testing.T) {
	for _, forbidden := range []string{
		`document.body.setAttribute('style', 'color: red')`,
		`document.body.append(Object.assign(document.createElement('img'), { src: 'http://127.0.0.1:1/x.png' }))`,
		`fetch('http://127.0.0.1:1/').catch(() => {})`,
		`console.error('a fault')`,
	} {
		var faults []string
		p.eval(`void `+forbidden, nil)
		for range 200 {
			p.eval(`new Promise((done) => setTimeout(() => done(true), 10))`, nil)
			if faults = p.seen(); faults != nil {
				break
			}
		}
		if faults == nil {
			t.Errorf("nothing was noticed of %s", forbidden)
		}
	}
	p.eval(`document.body.removeAttribute('style')`, nil)
}

// basics are what every view must have for those who can't see it.
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
		for (const e of all('svg')) if (!e.closest('[aria-hidden=true]') && !(e.getAttribute('role') && e.getAttribute('aria-label'))) wrong.push('a drawing without words');
		for (const e of all('nav, form, section')) if (!e.getAttribute('aria-label') && !document.getElementById(e.getAttribute('aria-labelledby'))) wrong.push('a landmark without a name: ' + e.outerHTML.slice(0, 80));
		for (const e of all('table')) if (!e.caption || e.querySelector('th:not([scope])')) wrong.push('a table without caption or scopes');
		const ids = all('[id]').map((e) => e.id), twice = ids.filter((id, i) => ids.indexOf(id) !== i);
		if (twice.length) wrong.push('ids twice: ' + twice);
		let level = 0;
		for (const e of all('h1, h2, h3')) { const l = Number(e.nodeName[1]); if (l > level + 1) wrong.push('a heading skips a level: ' + e.textContent); level = l; }
		if (all('nav.sections [aria-current]').length > 1) wrong.push('two current sections');
		for (const e of all('*')) if (e.hasAttribute('style')) wrong.push('inline style');
		return wrong; })()`, &wrong)
	if len(wrong) != 0 {
		p.t.Errorf("%s: %q", p.text("location.hash"), wrong)
	}
}

// contrast finds texts that are hard to read: below 4.5 to 1, or 3 to 1 for large ones (WCAG 2.2, 1.4.3).
func (p *pageTest) contrast(t *testing.T, view string) {
	t.Helper()
	var faint []string
	p.eval(`(() => {
		const c = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
		c.canvas.width = c.canvas.height = 1;
		const rgba = (colour) => { c.clearRect(0, 0, 1, 1); c.fillStyle = colour; c.fillRect(0, 0, 1, 1); return [...c.getImageData(0, 0, 1, 1).data]; };
		const light = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
		const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
		const behind = (e) => {
			const at = e.closest('.caption')?.dataset, shape = at && document.querySelector('.placement[data-x="' + at.x + '"][data-y="' + at.y + '"] rect');
			if (shape) return rgba(getComputedStyle(shape).fill);
			for (; e; e = e.parentElement) { const b = rgba(getComputedStyle(e).backgroundColor); if (b[3] > 200) return b; }
			return [255, 255, 255, 255];
		};
		const faint = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		for (let n; (n = walker.nextNode());) {
			const e = n.parentElement, s = getComputedStyle(e), r = e.getBoundingClientRect();
			if (!n.data.trim() || r.width < 2 || s.visibility === 'hidden' || e.closest('[hidden], noscript, option, .gone main')) continue;
			const [a, b] = [luminance(rgba(e instanceof SVGElement ? s.fill : s.color)), luminance(behind(e))];
			const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), large = parseFloat(s.fontSize) >= 24;
			if (ratio < (large ? 3 : 4.5)) faint.push(n.data.trim() + ' ' + ratio.toFixed(2));
		}
		return [...new Set(faint)]; })()`, &faint)
	if len(faint) != 0 {
		t.Errorf("%s: hard to read: %q", view, faint)
	}
}

// TestPageFiles asks for the page without a browser.
func TestPageFiles(t *testing.T) {
	l := startPageLedger(t)
	get := func(path, header, value string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, l.reader.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			req.Header.Set(header, value)
		}
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		return answer, string(body)
	}
	index, html := get("/", "", "")
	total := len(html)
	paths := []string{"/"}
	for _, part := range strings.Split(html, `"`) {
		if strings.HasPrefix(part, "page/") {
			paths = append(paths, "/"+part)
		}
	}
	files, err := os.ReadDir("../page/assets")
	if err != nil {
		t.Fatal(err)
	}
	version := strings.Split(paths[1], "/")[2]
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".js") {
			paths = append(paths, "/page/"+version+"/"+f.Name())
		}
	}
	for _, path := range paths {
		answer, body := get(path, "", "")
		h := answer.Header
		if answer.StatusCode != http.StatusOK || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") == "" ||
			!strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; style-src 'self'") {
			t.Errorf("%s: %d %v", path, answer.StatusCode, h)
		}
		if immutable := strings.Contains(h.Get("Cache-Control"), "immutable"); immutable != (path != "/") {
			t.Errorf("%s: Cache-Control %s", path, h.Get("Cache-Control"))
		}
		if path != "/" {
			total += len(body)
		}
		if again, rest := get(path, "If-None-Match", h.Get("ETag")); again.StatusCode != http.StatusNotModified || rest != "" {
			t.Errorf("%s again: %d", path, again.StatusCode)
		}
		for _, outside := range []string{"http://", "https://", "//cdn"} {
			if strings.Contains(strings.ReplaceAll(strings.ReplaceAll(body, "http://www.w3.org/2000/svg", ""), "// ", ""), outside) {
				t.Errorf("%s names an outside address", path)
			}
		}
	}
	if index.Header.Get("Content-Type") != "text/html; charset=utf-8" || total > 150<<10 {
		t.Errorf("the page is %s of %d bytes", index.Header.Get("Content-Type"), total)
	}
	for _, path := range []string{"/page/" + version + "/nothing.js", "/page/0/app.js", "/index.html", "/page/" + version + "/"} {
		if answer, body := get(path, "", ""); answer.StatusCode != http.StatusNotFound || !strings.Contains(body, `"NotFound"`) {
			t.Errorf("%s: %d %s", path, answer.StatusCode, body)
		}
	}
	plain := startReader(t, t.TempDir())
	if answer, err := http.Get(plain.url + "/"); err != nil || answer.StatusCode != http.StatusNotFound {
		t.Errorf("a daemon without the page answers %v, %v", answer, err)
	} else {
		answer.Body.Close()
	}
}

// picture saves what the window shows, if asked to.
func (p *pageTest) picture(name string) {
	p.t.Helper()
	if *screenshots != "" {
		savePicture(p.t, filepath.Join(*screenshots, name+".png"), p.screenshot())
	}
}

// savePicture writes a PNG of at most 256 colours, which is enough for a page and small.
func savePicture(t *testing.T, path string, data []byte) {
	t.Helper()
	src, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[color.RGBA]int{}
	each := func(do func(x, y int, c color.RGBA)) {
		for y := range src.Bounds().Dy() {
			for x := range src.Bounds().Dx() {
				do(x, y, color.RGBAModel.Convert(src.At(x, y)).(color.RGBA))
			}
		}
	}
	each(func(_, _ int, c color.RGBA) { counts[c]++ })
	common := make([]color.RGBA, 0, len(counts))
	for c := range counts {
		common = append(common, c)
	}
	slices.SortFunc(common, func(a, b color.RGBA) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return int(a.R)<<16 + int(a.G)<<8 + int(a.B) - int(b.R)<<16 - int(b.G)<<8 - int(b.B)
	})
	palette := color.Palette{}
	for _, c := range common[:min(256, len(common))] {
		palette = append(palette, c)
	}
	index := map[color.RGBA]uint8{}
	small := image.NewPaletted(src.Bounds(), palette)
	each(func(x, y int, c color.RGBA) {
		i, known := index[c]
		if !known {
			i = uint8(palette.Index(c))
			index[c] = i
		}
		small.SetColorIndex(x, y, i)
	})
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
