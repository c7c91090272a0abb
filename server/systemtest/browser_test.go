package systemtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"assetledger/server/servertest/longtest"
)

// A browser is a tab of its own in the shared Chromium: no other tab sees what
// it stores.
type browser struct {
	t       *testing.T
	c       *chromium
	context string // the tab's cookies and storage
	session string
	faults  []string // console errors, exceptions, and policy violations; c.mu guards them
}

// startBrowser opens a tab for a test.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	b := &browser{t: t, c: theChromium(t)}
	var context struct{ BrowserContextID string }
	b.ask("", "Target.createBrowserContext", nil, &context)
	b.context = context.BrowserContextID
	t.Cleanup(func() {
		b.c.command("", "Target.disposeBrowserContext", map[string]any{"browserContextId": b.context})
		b.c.mu.Lock()
		delete(b.c.tabs, b.session)
		b.c.mu.Unlock()
	})
	var target struct{ TargetID string }
	b.ask("", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": b.context}, &target)
	var attached struct{ SessionID string }
	b.ask("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	b.c.mu.Lock()
	b.c.tabs[b.session] = b
	b.c.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.must(domain+".enable", nil, nil)
	}
	b.must("Emulation.setTimezoneOverride", map[string]any{"timezoneId": "UTC"}, nil)
	b.must("Emulation.setLocaleOverride", map[string]any{"locale": "en-GB"}, nil)
	b.must("Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil) // there are other tabs
	b.size(1200, 800)
	b.scheme("light")
	return b
}

func (b *browser) size(width, height int) {
	b.t.Helper()
	b.must("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// scheme sets the preferred color scheme: light or dark. In the short form, the
// user also prefers reduced motion, because drawing the page many times while it
// fades in takes a long time.
func (b *browser) scheme(name string) {
	b.t.Helper()
	features := []map[string]string{{"name": "prefers-color-scheme", "value": name}}
	if !longtest.Form(b.t, "pages that fade in") {
		features = append(features, map[string]string{"name": "prefers-reduced-motion", "value": "reduce"})
	}
	b.must("Emulation.setEmulatedMedia", map[string]any{"features": features}, nil)
}

// must sends a command to the tab, and decodes its reply.
func (b *browser) must(method string, params, into any) {
	b.t.Helper()
	b.ask(b.session, method, params, into)
}

// ask does the same as must, for any session.
func (b *browser) ask(session, method string, params, into any) {
	b.t.Helper()
	result, err := b.c.command(session, method, params)
	if err == nil && into != nil {
		err = json.Unmarshal(result, into)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// eval evaluates an expression in the page, awaits promises, and decodes the
// value.
func (b *browser) eval(expression string, into any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.must("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s threw an exception:\n%s", expression, r.ExceptionDetails)
	}
	if into != nil {
		if err := json.Unmarshal(r.Result.Value, into); err != nil {
			b.t.Fatalf("%s gave %s: %v", expression, r.Result.Value, err)
		}
	}
}

func (b *browser) text(expression string) (s string) {
	b.t.Helper()
	b.eval(expression, &s)
	return s
}

// until waits for an expression to become true. It evaluates the expression every 10 ms.
func (b *browser) until(expression string) {
	b.t.Helper()
	var ok bool
	b.eval(fmt.Sprintf(`new Promise((done) => {
		const end = performance.now() + 20000;
		const look = () => { if (%s) done(true); else if (performance.now() > end) done(false); else setTimeout(look, 10); };
		look();
	})`, expression), &ok)
	if !ok {
		b.t.Fatalf("the page never reached: %s\nit shows %s:\n%s\nfaults: %q", expression, b.text("location.href"), b.text("document.body.innerText"), b.seen())
	}
}

// load opens a URL, and waits for the view that it names.
func (b *browser) load(url string) {
	b.t.Helper()
	b.must("Page.navigate", map[string]any{"url": url}, nil)
	_, hash, _ := strings.Cut(url, "#")
	b.shows("#" + hash)
}

// goTo changes the part of the URL after #, and waits for the view.
func (b *browser) goTo(hash string) {
	b.t.Helper()
	b.eval(fmt.Sprintf("void (location.hash = %q)", hash), nil)
	b.shows(hash)
}

// shows waits until a view is shown.
func (b *browser) shows(hash string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`document.querySelector('#main')?.dataset.shown === %q && !document.querySelector('#main').classList.contains('loading')`, strings.TrimSuffix(hash, "#")))
}

// click clicks in the middle of the element that an expression returns.
func (b *browser) click(expression string) {
	b.t.Helper()
	x, y := b.point(expression)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.must("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}, nil)
	}
}

// hover moves the mouse over the element that an expression returns.
func (b *browser) hover(expression string) {
	b.t.Helper()
	x, y := b.point(expression)
	b.must("Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": x, "y": y}, nil)
}

func (b *browser) point(expression string) (x, y float64) {
	b.t.Helper()
	var at []float64
	b.eval(fmt.Sprintf(`(() => { const e = %s; if (!e) return []; e.scrollIntoView({ block: 'center' });
		const r = e.getClientRects()[0]; return [r.x + r.width / 2, r.y + r.height / 2]; })()`, expression), &at)
	if len(at) != 2 {
		b.t.Fatalf("there is no %s to point at in %s", expression, b.text("document.body.innerText"))
	}
	return at[0], at[1]
}

// linkNamed returns the expression for the link with the given text in an element.
func linkNamed(within, text string) string {
	return fmt.Sprintf(`[...document.querySelector(%q).querySelectorAll('a')].find((a) => a.textContent === %q)`, within, text)
}

// key presses a key by its name, such as Tab or ArrowRight.
func (b *browser) key(name string) {
	b.t.Helper()
	codes := map[string]int{"Tab": 9, "Enter": 13, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Escape": 27}
	down := map[string]any{"type": "rawKeyDown", "key": name, "code": name, "windowsVirtualKeyCode": codes[name]}
	if name == "Enter" {
		down["type"], down["text"] = "keyDown", "\r"
	}
	if len(name) == 1 {
		down["type"], down["text"] = "keyDown", name
	}
	b.must("Input.dispatchKeyEvent", down, nil)
	b.must("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": name, "code": name, "windowsVirtualKeyCode": codes[name]}, nil)
}

// fill clears the element that an expression returns, and types text into it.
func (b *browser) fill(expression, text string) {
	b.t.Helper()
	b.eval(fmt.Sprintf("(() => { const e = %s; e.focus(); e.value = ''; })()", expression), nil)
	b.must("Input.insertText", map[string]any{"text": text}, nil)
}

// seen returns the faults in the page since the last call.
func (b *browser) seen() []string {
	b.c.mu.Lock()
	defer b.c.mu.Unlock()
	faults := b.faults
	b.faults = nil
	return faults
}

// screenshot returns a PNG of the window.
func (b *browser) screenshot() []byte {
	b.t.Helper()
	var shot struct{ Data string }
	b.must("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	return png
}
