package systemtest

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"assetledger/server/servertest/longtest"
)

// A browser is a headless Chromium with one tab, driven by the DevTools
// protocol over two pipes. Each JSON message ends with a zero byte. Chromium
// reads from its descriptor 3 and writes to its descriptor 4.
type browser struct {
	t       *testing.T
	in      *os.File
	session string

	mu      sync.Mutex
	last    int
	waiting map[int]chan reply
	faults  []string // console errors, exceptions, and policy violations
	ended   error
}

type reply struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// browserPatience is the limit of every wait for the browser.
const browserPatience = 60 * time.Second

func startBrowser(t *testing.T) *browser {
	t.Helper()
	skipUnderRace(t)
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skip("NOT TESTED: the page; needs Chromium (Debian: apt-get install chromium)")
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--user-data-dir="+t.TempDir(), "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	b := &browser{t: t, in: in, waiting: map[int]chan reply{}}
	go b.read(out)
	t.Cleanup(func() {
		b.command("Browser.close", nil)
		in.Close()
		timer := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
		cmd.Wait()
		timer.Stop()
		out.Close()
	})
	b.open()
	return b
}

// open opens the tab that the test uses.
func (b *browser) open() {
	b.t.Helper()
	var target struct{ TargetID string }
	b.must("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.must("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.must(domain+".enable", nil, nil)
	}
	b.must("Emulation.setTimezoneOverride", map[string]any{"timezoneId": "UTC"}, nil)
	b.must("Emulation.setLocaleOverride", map[string]any{"locale": "en-GB"}, nil)
	b.size(1200, 800)
	b.scheme("light")
}

func (b *browser) size(width, height int) {
	b.t.Helper()
	b.must("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// scheme sets the preferred color scheme: light or dark. In the short form the
// user prefers no motion: drawing the page many times while it fades in takes
// long.
func (b *browser) scheme(name string) {
	b.t.Helper()
	features := []map[string]string{{"name": "prefers-color-scheme", "value": name}}
	if !longtest.Form(b.t, "pages that fade in") {
		features = append(features, map[string]string{"name": "prefers-reduced-motion", "value": "reduce"})
	}
	b.must("Emulation.setEmulatedMedia", map[string]any{"features": features}, nil)
}

// read passes replies to the waiting commands, and records faults in the page.
func (b *browser) read(out *os.File) {
	r := bufio.NewReader(out)
	for {
		message, err := r.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			b.ended = errors.New("the browser has gone")
			for _, w := range b.waiting {
				close(w)
			}
			b.waiting = nil
			b.mu.Unlock()
			return
		}
		var m struct {
			ID     int
			Method string
			Params json.RawMessage
			reply
		}
		if json.Unmarshal(message[:len(message)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		if m.ID != 0 && b.waiting[m.ID] != nil {
			b.waiting[m.ID] <- m.reply
			delete(b.waiting, m.ID)
		}
		if fault := faultOf(m.Method, m.Params); fault != "" {
			b.faults = append(b.faults, fault)
		}
		b.mu.Unlock()
	}
}

// faultOf returns the fault that an event reports, "" for none. A rejected
// request is not a fault, because a page may request what does not exist.
func faultOf(method string, params json.RawMessage) string {
	var p struct {
		Type  string
		Entry struct{ Source, Level, Text, URL string }
	}
	if json.Unmarshal(params, &p) != nil {
		return ""
	}
	switch {
	case method == "Runtime.exceptionThrown",
		method == "Runtime.consoleAPICalled" && (p.Type == "error" || p.Type == "warning" || p.Type == "assert"):
		return method + " " + string(params)
	case method == "Log.entryAdded" && p.Entry.Source != "network" && (p.Entry.Level == "error" || p.Entry.Level == "warning"):
		return p.Entry.Source + ": " + p.Entry.Text + " " + p.Entry.URL
	}
	return ""
}

// command sends a command and waits for its reply.
func (b *browser) command(method string, params any) (json.RawMessage, error) {
	b.mu.Lock()
	if b.ended != nil {
		b.mu.Unlock()
		return nil, b.ended
	}
	b.last++
	m := map[string]any{"id": b.last, "method": method}
	if params != nil {
		m["params"] = params
	}
	if b.session != "" && !strings.HasPrefix(method, "Browser.") {
		m["sessionId"] = b.session
	}
	answer := make(chan reply, 1)
	b.waiting[b.last] = answer
	text, err := json.Marshal(m)
	if err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case r, ok := <-answer:
		if !ok {
			return nil, errors.New("the browser has gone")
		}
		if r.Error != nil {
			return nil, errors.New(r.Error.Message)
		}
		return r.Result, nil
	case <-time.After(browserPatience):
		return nil, errors.New("no reply in time")
	}
}

func (b *browser) must(method string, params, into any) {
	b.t.Helper()
	result, err := b.command(method, params)
	if err == nil && into != nil {
		err = json.Unmarshal(result, into)
	}
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
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
		b.t.Fatalf("%s\n%s", expression, r.ExceptionDetails)
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

// until waits for an expression to become true, and evaluates it at each frame.
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

// linkNamed returns the expression for the link with that text in an element.
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

// fill types a text into the element that an expression returns.
func (b *browser) fill(expression, text string) {
	b.t.Helper()
	b.eval(fmt.Sprintf("(() => { const e = %s; e.focus(); e.value = ''; })()", expression), nil)
	b.must("Input.insertText", map[string]any{"text": text}, nil)
}

// seen returns the faults in the page so far, and forgets them.
func (b *browser) seen() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
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
