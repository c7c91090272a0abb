package systemtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// overview checks what the first view shows of the ledger.
func (p *pageTest) overview(t *testing.T) {
	value := func(id string) string {
		return p.text(fmt.Sprintf(`document.querySelector('#value-%s').textContent`, id))
	}
	p.until(`!document.querySelector('#value-classes').textContent.startsWith('0')`)
	p.load(p.ledger.reader.url + "/?overview#/")
	containers := listOf(p.ledger.data("/v1/read/containers?limit=10000"), "containers")
	classes := listOf(p.ledger.data("/v1/read/classes"), "classes")
	live := 0
	type held struct {
		row        []string
		containers int
	}
	var totals []held
	for _, c := range classes {
		stats := p.ledger.data("/v1/read/class/" + str(c["class_id"]) + "/stats")
		live += asInt(stats["instances_live"])
		total := str(stats["instances_live"])
		if c["fungible"] == true {
			total = p.ledger.decimal(stats["total_quantity"], c["class_id"])
		}
		totals = append(totals, held{[]string{str(c["name"]), total, str(stats["containers"])}, asInt(stats["containers"])})
	}
	same(t, "commits", value("applied"), str(p.ledger.read("/v1/read/freshness")["freshness"].(object)["checkpoint_seq"]))
	same(t, "containers", value("containers"), fmt.Sprint(len(containers)))
	same(t, "classes", value("classes"), fmt.Sprint(len(classes)))
	same(t, "live instances", value("instances"), fmt.Sprint(live))
	slices.SortStableFunc(totals, func(a, b held) int { return cmp.Compare(b.containers, a.containers) })
	var meant [][]string
	for _, h := range totals[:min(8, len(totals))] {
		meant = append(meant, h.row)
	}
	log := p.ledger.data("/v1/status")["log"].(object)
	same(t, "the log", p.text(`document.querySelector('#value-log [title]').title`), str(log["bytes"])+" bytes")
	same(t, "read daemons", p.text(`document.querySelector('#readers').textContent`), "1 daemon")
	same(t, "largest classes", p.rows("section[aria-labelledby=largest]"), meant)
	var latest []string
	for _, row := range p.rows("section[aria-labelledby=latest]") {
		latest = append(latest, row[0])
	}
	same(t, "latest commits", latest, []string{"200", "199", "198", "197", "196", "195", "194", "193"})
	same(t, "the header", p.text(`document.querySelector('#seq').textContent`), "200")
	if lead := p.text(`document.querySelector('.lead').textContent`); !strings.HasPrefix(lead, "The ledger at "+strings.TrimPrefix(p.ledger.reader.url, "http://")+", live and read-only:") ||
		!strings.HasSuffix(lead, "version dev") {
		t.Errorf("the description of the ledger is %q, want its address and version", lead)
	}
	// The last hour includes commits from before the page was opened. All 200 are in
	// one batch, and so in one minute.
	same(t, "the last hour", p.text(`document.querySelector('.bars').getAttribute('aria-label')`), "Commits a minute: at most 200 in any minute of the last hour")
	p.basics()
}
