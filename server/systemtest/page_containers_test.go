package systemtest

import (
	"fmt"
	"testing"
)

func (p *pageTest) emptyLedger(t *testing.T) {
	p.load(p.ledger.reader.url + "/")
	p.basics()
	for hash, words := range map[string]string{
		"#/": "The ledger is empty.", "#/containers": "There are no containers yet.", "#/classes": "No class is registered yet.", "#/commits": "There are no commits here.",
	} {
		p.goTo(hash)
		if shown := p.text(`document.querySelector('.empty .title').textContent`); shown != words {
			t.Errorf("%s shows %q, want %q", hash, shown, words)
		}
		p.basics()
	}
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
	same(t, "nothing found", p.text(`document.querySelector('.empty .title').textContent`), "No container matches.")
	p.follow("#main", "Show all containers", "#/containers")
	p.fill(`document.querySelector('form[aria-label="Open a container"] input')`, "1001")
	p.key("Enter")
	p.shows("#/container/1001")
}

// head compares the facts at the head of a container's view with the daemon's
// response, and returns the container.
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
		t.Errorf("a placement is drawn %.2f cells off, want at most 0.15", worst)
	}
}
