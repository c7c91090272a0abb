package systemtest

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assetledger/server/servertest/longtest"
)

var screenshots = flag.String("screenshots", "", "directory to write pictures of the page to, such as ../../docs/page")

// keyboard uses the page without a mouse.
func (p *pageTest) keyboard(t *testing.T) {
	p.load(p.ledger.reader.url + "/?keyboard#/")
	focused := func() string {
		return p.text(`document.activeElement.textContent.trim() || document.activeElement.name || document.activeElement.id`)
	}
	var order []string
	for range 8 {
		p.key("Tab")
		order = append(order, focused())
	}
	same(t, "order of the Tab key", order[:6], []string{"Skip to the content", "Asset ledger", "Overview", "Containers", "Classes", "Commits"})
	same(t, "the search", order[6], "what")
	p.eval(`document.querySelector('#skip').focus()`, nil)
	p.key("Enter")
	same(t, "after skipping", p.text(`document.activeElement.id`), "main")
	p.eval(`document.querySelector('nav.sections a[data-section=classes]').focus()`, nil)
	p.key("Enter")
	p.shows("#/classes")
	same(t, "focus in a new view", p.text(`document.activeElement.nodeName + ' ' + document.activeElement.textContent`), "H1 Classes")
	p.key("/")
	p.fill(`document.activeElement`, "#1")
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
	{"history", "#/container/1001/history"}, {"past", "#/container/1001?at=100"},
	{"holders", "#/class/4/holders"}, {"instances", "#/class/5/instances"}, {"filtered", "#/commits?op=transfer&container=1001"}, {"daemon", "#/daemon"},
}

// pictures writes screenshots if requested. It checks contrast in both color
// schemes, and overflow in narrow windows.
func (p *pageTest) pictures(t *testing.T) {
	widths := []int{360, 768}
	if !longtest.Form(t, "a width of 768 pixels") {
		widths = widths[:1]
	}
	for _, v := range pageViews {
		p.goTo(v.hash)
		for _, width := range widths {
			p.size(width, 800)
			p.fits(t, width)
			if width == 360 && v.name == "grid" {
				p.picture("narrow")
			}
		}
		p.size(1200, 800)
		if v.name == "grid" {
			p.hover(`document.querySelectorAll('.placement')[2]`)
			p.eval(`window.scrollTo(0, 0)`, nil)
		}
		if v.name == "daemon" && *screenshots != "" { // the directory of a test means nothing to readers
			p.eval(`void (document.querySelector('#main > .facts code').textContent = '/var/lib/ledger/log')`, nil)
		}
		for _, scheme := range []string{"dark", "light"} {
			p.scheme(scheme)
			p.contrast(t, scheme+" "+v.name)
			if scheme == "light" || v.name == "grid" || v.name == "slots" {
				p.picture(v.name + "-" + scheme)
			}
		}
	}
}

// axeFile is the environment variable with the path of axe-core's axe.min.js.
const axeFile = "LEDGER_TEST_AXE"

// accessible checks each view with axe-core for accessibility problems. The long
// form does so in both color schemes.
func (p *pageTest) accessible(t *testing.T) {
	if os.Getenv(axeFile) == "" {
		t.Skipf("NOT TESTED: the page with axe-core; set %s to its axe.min.js (npm pack axe-core)", axeFile)
	}
	for _, scheme := range axeSchemes(t) {
		p.scheme(scheme)
		for _, v := range pageViews {
			p.goTo(v.hash)
			p.eval(`document.querySelector('.commands')?.setAttribute('open', '')`, nil)
			p.axe(t, scheme+" "+v.name)
		}
		p.fill(`document.querySelector('#find-what')`, "1")
		p.until(`document.querySelectorAll('#found li').length > 1`)
		p.key("ArrowDown")
		p.contrast(t, scheme+" matches")
		p.axe(t, scheme+" matches")
		p.key("Escape")
		p.eval(`void (document.querySelector('#find-what').value = '')`, nil)
	}
	p.scheme("light")
}

// axeSchemes returns the color schemes in which axe-core checks the page.
func axeSchemes(t *testing.T) []string {
	t.Helper()
	if longtest.Form(t, "the dark color scheme, and axe-core's own rule about contrast") {
		return []string{"light", "dark"}
	}
	return []string{"light"}
}

// axe checks the current view with axe-core, if axeFile is set.
func (p *pageTest) axe(t *testing.T, view string) {
	t.Helper()
	path := os.Getenv(axeFile)
	if path == "" {
		return
	}
	p.until(`getComputedStyle(document.querySelector('#main')).opacity === '1'`) // it fades in
	var loaded bool
	if p.eval(`'axe' in window`, &loaded); !loaded {
		p.eval(text(t, path)+"; undefined", nil)
	}
	var found []string
	// The rule about contrast takes longest, and p.contrast checks contrast too.
	p.eval(`axe.run(document, {resultTypes: ['violations'], rules: {'label-content-name-mismatch': {enabled: true}, 'color-contrast': {enabled: `+
		fmt.Sprint(os.Getenv(longtest.Variable) == "1")+`}}}).then((r) => r.violations.map((v) => v.id + ': ' + v.nodes[0].html))`, &found)
	for _, f := range found {
		t.Errorf("%s: %s", view, f)
	}
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

// longNames shows long names without spaces, which can't be wrapped between words. It
// also checks the size of what large grids show.
func (p *pageTest) longNames(t *testing.T) {
	p.ledger.commit(`{"op":"RegisterClass","args":{"request":{"class_id":77,"name":"` + strings.Repeat("Unbroken", 14) + `"}}},
		{"op":"RegisterClassShape","args":{"request":{"class_id":77,"width":2,"height":1}}},
		{"op":"CreateContainer","args":{"container_id":79,"kind":"Grid","grid_width":100,"grid_height":3}},
		{"op":"AddFungible","args":{"container_id":79,"class_id":77,"key":9223372036854775807,"quantity":9223372036854775807}},
		{"op":"CreateContainer","args":{"container_id":80,"kind":"Standard","name":"` + strings.Repeat("Unbroken", 16) + `"}},
		{"op":"RegisterClass","args":{"request":{"class_id":78,"code":"EUR","name":"Euro of the ` + strings.Repeat("Unbroken", 8) + `"}}},
		{"op":"RegisterClassShape","args":{"request":{"class_id":78,"width":1,"height":1}}},
		{"op":"AddFungible","args":{"container_id":80,"class_id":78,"key":9223372036854775807,"quantity":9223372036854775806}},
		{"op":"CreateContainer","args":{"container_id":81,"kind":"Grid","grid_width":1024,"grid_height":1024}},
		{"op":"AddFungible","args":{"container_id":81,"class_id":78,"key":0,"quantity":1,"x":500,"y":500}}`)
	commit := fmt.Sprint("#/commit/", p.ledger.lastCommitted)
	p.ledger.data("/v1/read/freshness")
	for _, hash := range []string{"#/", "#/container/79", "#/containers", "#/classes", "#/class/77", "#/commits", commit, "#/container/80"} {
		p.goTo(hash)
		p.until(`document.body.innerText.includes('Unbroken')`)
		for _, width := range []int{360, 1200} {
			p.size(width, 800)
			p.fits(t, width)
		}
	}
	for _, width := range []int{360, 1200} {
		p.size(width, 800)
		var lines int
		p.eval(`(() => {
			const code = document.createRange();
			code.selectNodeContents(document.querySelector('td .class .aside'));
			return code.getClientRects().length;
		})()`, &lines)
		if lines != 1 {
			t.Errorf("a code is broken into %d lines in a window of %d", lines, width)
		}
	}
	p.goTo("#/container/81")
	var side float64
	p.eval(`document.querySelector('.placement rect').getBoundingClientRect().width`, &side)
	if side < 2 {
		t.Errorf("one cell of a large grid is %.1f pixels wide, want at least 2", side)
	}
	// In a grid with many columns, the numbers on the axes must stay readable.
	p.goTo("#/container/79")
	var height float64
	p.eval(`document.querySelector('.axis').getBoundingClientRect().height`, &height)
	if height < 8 {
		t.Errorf("the axes of a large grid are %.1f pixels high, want at least 8", height)
	}
}

// contrast finds text that is hard to read: text with a contrast below 4.5 to 1, or
// below 3 to 1 if it is large (WCAG 2.2, 1.4.3).
func (p *pageTest) contrast(t *testing.T, view string) {
	t.Helper()
	var faint []string
	p.eval(`(() => {
		const c = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
		c.canvas.width = c.canvas.height = 1;
		const known = new Map(); // drawing takes a long time, and there are few colors
		const rgba = (colour) => {
			if (!known.has(colour)) { c.clearRect(0, 0, 1, 1); c.fillStyle = colour; c.fillRect(0, 0, 1, 1); known.set(colour, [...c.getImageData(0, 0, 1, 1).data]); }
			return known.get(colour);
		};
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

// picture saves a screenshot of the window, if requested.
func (p *pageTest) picture(name string) {
	p.t.Helper()
	if *screenshots != "" {
		savePicture(p.t, filepath.Join(*screenshots, name+".png"), p.screenshot())
	}
}

// savePicture writes a PNG with at most 256 colors, which is small, and good enough
// for a page.
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
