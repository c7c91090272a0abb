package systemtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

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
		place += fmt.Sprintf(", rotated by %s°", in["rotation"])
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
			t.Errorf("operation %d is shown as %q, want %q", i, ops[i], meant)
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
		"#/container/one":                  {"ContainerNotFound", `There is no container named "one".`},
		"#/containers?owner=no":            {"InvalidParameter", "The query parameter owner must be"},
		"#/container/%3Cimg%20src%3Dx%3E":  {"InvalidParameter", "<img src=x>"},
		"#/container/1/../../../v1/health": {"", "There is no such page."},
		"#/nonsense":                       {"", "There is no such page."},
	} {
		p.goTo(hash)
		shown := p.text(`document.querySelector('.problem').textContent`)
		if !strings.Contains(shown, words[0]) || !strings.Contains(shown, words[1]) {
			t.Errorf("%s shows %q, want %q", hash, shown, words)
		}
		if !strings.HasSuffix(hash, "nonsense") && words[0] != "" {
			p.basics()
		}
	}
}
