package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"assetledger/server/auth"
	"assetledger/wal"
)

// The fuzz targets of this file are whole requests to whole daemons, by a
// client limited to owner 7 and by strangers. What owner 8 has is marked, and
// must never be seen nor touched.
const (
	markedQuantity = 4242424242
	ofEight        = `{"operations":[
	{"op":"CreateContainer","args":{"container_id":7,"kind":"Standard","owner":7}},
	{"op":"CreateContainer","args":{"container_id":77,"kind":"Slots","slot_count":4,"owner":7}},
	{"op":"CreateContainer","args":{"container_id":8,"kind":"Standard","owner":8}},
	{"op":"CreateContainer","args":{"container_id":88,"kind":"Grid","owner":8}},
	{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"Gold"}}},
	{"op":"RegisterClass","args":{"request":{"class_id":2,"name":"Sword","fungible":false}}},
	{"op":"RegisterClassShape","args":{"request":{"class_id":2,"width":1,"height":1}}},
	{"op":"AddFungible","args":{"container_id":7,"class_id":1,"key":0,"quantity":1000}},
	{"op":"MintInstance","args":{"class_id":2,"container_id":77,"slot_index":0}},
	{"op":"MintInstance","args":{"class_id":2,"container_id":88}},
	{"op":"AddFungible","args":{"container_id":8,"class_id":1,"key":0,"quantity":4242424242}}],"idempotency_key":"eight","metadata":{"secret":4242424242}}`
	// isEights is accepted while owner 8 has all that it had, and nothing else.
	isEights = `{"operations":[{"op":"RemoveFungible","args":{"container_id":8,"class_id":1,"key":0,"quantity":4242424242}},{"op":"RemoveContainer","args":{"container_id":8}},
	{"op":"BurnInstance","args":{"instance_id":2}},{"op":"RemoveContainer","args":{"container_id":88}}]}`
)

// tenants are the clients of the fuzz targets.
func tenants(t testing.TB) *gate {
	hash := func(token string) string { return fmt.Sprintf("sha256:%x", auth.HashToken(token)) }
	table, err := auth.Parse("seven " + hash("s") + " commit,read owners=7\nadmin " + hash("a-long-secret") + " admin\n")
	if err != nil {
		t.Fatal(err)
	}
	table.Mode = 0o600
	return newGate("auth", table, silent)
}

// A forgetfulLog keeps nothing, so that a fuzz target can run for hours.
type forgetfulLog struct{ *ramLog }

func (forgetfulLog) Append(*wal.Frame) error { return nil }

// answerTo is what the handler answers to raw bytes; nil if they are no request
// that would reach it. Whatever they are, the answer has a form.
func answerTo(t *testing.T, a *api, raw string) *httptest.ResponseRecorder {
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
	if err != nil || r.ContentLength > 1<<20 {
		return nil
	}
	rec := httptest.NewRecorder()
	a.ServeHTTP(rec, r)
	body := rec.Body.String()
	if a.Panics.Load() != 0 || rec.Code == 500 {
		t.Fatalf("%q: %d %s", raw, rec.Code, body)
	}
	page := rec.Code == 200 && !strings.HasPrefix(r.URL.Path, "/v1/")
	if r.Method != http.MethodHead && rec.Code != http.StatusNotModified && !page && !json.Valid([]byte(body)) {
		t.Fatalf("%q: %d and this is no JSON: %q", raw, rec.Code, body)
	}
	if refused := rec.Code == 401 || rec.Code == 403; refused != (rec.Header().Get("WWW-Authenticate") != "") || r.Method != http.MethodHead && refused != strings.HasPrefix(body, `{"error":{"code":"Unauthorized"`) &&
		refused != strings.HasPrefix(body, `{"error":{"code":"Forbidden"`) {
		t.Fatalf("%q: %d %v %s", raw, rec.Code, rec.Header(), body)
	}
	for name, values := range rec.Header() {
		if len(values) != 1 || strings.ContainsAny(values[0], "\r\n\x00") {
			t.Fatalf("%q: the header %s is %q", raw, name, values)
		}
	}
	if n := rec.Header().Get("Content-Length"); n != "" && r.Method != http.MethodHead && n != strconv.Itoa(len(body)) {
		t.Fatalf("%q: %s bytes were promised, and %d came", raw, n, len(body))
	}
	return rec
}

func FuzzWriteRequest(f *testing.F) {
	w := startWriter(f, forgetfulLog{newRAMLog()}, func(c *WriteConfig) { c.IdempotencyKeys = 100 })
	w.post(200, "/v1/commit", ofEight)
	w.api.gate = tenants(f)
	post := func(path, token, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, token, len(body), body)
	}
	for _, body := range []string{
		`{"operations":[{"op":"TransferFungible","args":{"from_container":8,"to_container":7,"class_id":1,"key":0,"quantity":5}}]}`,
		`{"operations":[{"op":"RemoveFungible","args":{"container_id":8,"class_id":1,"key":0,"quantity":99}}],"idempotency_key":"eight"}`,
		`{"operations":[{"op":"MintInstance","args":{"class_id":2}},{"op":"Attach","args":{"instance_id":{"minted":0},"parent_id":2}}]}`,
		`{"operations":[{"op":"RemoveFromSlot","args":{"container_id":77,"slot_index":0}},{"op":"PlaceInGrid","args":{"container_id":88,"instance_id":1}}]}`,
		`{"operations":[{"op":"SwapSlots","args":{"container_id":77,"slot_a":0,"slot_b":1,"other_container_id":88}},{"op":"BurnInstance","args":{"instance_id":2}}]}`,
		`{"transactions":[{"operations":[{"op":"RemoveContainer","args":{"container_id":8}}]},{"operations":[{"op":"AddFungible","args":{"container_id":7,"class_id":1,"key":0,"quantity":1}}]}]}`,
		strings.ReplaceAll(ofEight, "\n\t", ""),
	} {
		for _, path := range []string{"/v1/commit", "/v1/commit/batch", "/v1/commit/preflight", "/v1/register/class"} {
			f.Add(post(path, "s", body))
		}
	}
	f.Add("GET /v1/health HTTP/1.1\r\nHost: x\r\nX-Request-Id: 1\r\n\r\n")
	f.Fuzz(func(t *testing.T, raw string) {
		rec := answerTo(t, w.api, raw)
		if rec == nil {
			return
		}
		if strings.Contains(rec.Body.String(), strconv.Itoa(markedQuantity)) && !strings.Contains(raw, "424242") {
			t.Fatalf("%q tells what owner 8 has: %s", raw, rec.Body)
		}
		if a := answerTo(t, w.api, post("/v1/commit/preflight", "a-long-secret", isEights)); a.Code != 200 {
			t.Fatalf("%q touched what owner 8 has: %s\n%s", raw, rec.Body, a.Body)
		}
	})
}

func FuzzReadRequest(f *testing.F) {
	log := newMemLog()
	l := newLedgerWriter(f, log)
	l.batch(ofEight)
	r := startReader(f, log)
	r.api.gate = tenants(f)
	for _, path := range []string{"container/8", "container/8/balances?class_id=1", "container/88/grid?x=0&y=0&width=1&height=1", "container/88/slots", "class/1/stats",
		"instance/2", "containers?owner=8&limit=1", "containers?kind=Grid&cursor=AQUAAAAAAAAABwAAAAAAAAAA", "commit/1", "commits?after=0", "freshness?min_seq=1&wait=1ms", "classes", "class/2/shapes"} {
		f.Add("GET /v1/read/" + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer s\r\nAccept: text/event-stream\r\nIf-None-Match: \"a\"\r\n\r\n")
	}
	f.Add("HEAD /v1/metrics HTTP/1.1\r\nHost: x\r\nAuthorization: bearer s\r\n\r\n")
	f.Fuzz(func(t *testing.T, raw string) {
		rec := answerTo(t, r.api, raw)
		if rec == nil {
			return
		}
		body := rec.Body.String()
		for _, secret := range []string{strconv.Itoa(markedQuantity), `"Standard","owner":8`, `"Grid","owner":8`, `"placements":[`} {
			if strings.Contains(body, secret) {
				t.Fatalf("%q shows what owner 8 has: %s", raw, body)
			}
		}
		if rec.Code == 200 && rec.Header().Get("ETag") != "" && !strings.Contains(raw, "Bearer") && !strings.Contains(strings.ToLower(raw), "bearer s") {
			t.Fatalf("%q was let in: %s", raw, body)
		}
	})
}

// FuzzIdentity: an Authorization header is one client's token, or nobody's, and
// what is answered to it can stand in a header.
func FuzzIdentity(f *testing.F) {
	gate := tenants(f)
	for _, v := range []string{"Bearer s", "bearer s", "Bearer  s", "Basic s", "Bearer a-long-secret", "", "Bearer"} {
		f.Add(v, "id-1")
	}
	f.Fuzz(func(t *testing.T, authorization, id string) {
		r := &http.Request{Header: http.Header{"Authorization": {authorization}, headerRequestID: {id}}}
		who, err := gate.admit(r, auth.Read, "/v1/read/classes")
		scheme, token, _ := strings.Cut(authorization, " ")
		knows := strings.EqualFold(scheme, "bearer") && (token == "s" || token == "a-long-secret")
		if (who != nil) != knows || (err == nil) != knows {
			t.Fatalf("%q: %v %v", authorization, who, err)
		}
		if err != nil {
			if c := challenge(err)[0]; !strings.HasPrefix(c, `Bearer realm="ledger"`) || strings.Count(c, `"`)%2 != 0 || strings.ContainsAny(c, "\r\n") {
				t.Fatalf("%q: %q", authorization, c)
			}
		}
		got := requestID(r)
		if !fitRequestID(got) || got != id && fitRequestID(id) {
			t.Fatalf("%q became %q", id, got)
		}
	})
}

// FuzzEnvironment: whatever the service manager's variables say, there is no
// panic, nobody else's socket is taken, and signs of life have a sane pace.
func FuzzEnvironment(f *testing.F) {
	f.Add("/run/notify", "30000000", "1", "1", "1")
	f.Add("@abstract", "-1", "", "x", "2")
	f.Add("", "9223372036854775807", "", "", "")
	f.Fuzz(func(t *testing.T, path, usec, watchdogPID, listenPID, fds string) {
		if listenPID == strconv.Itoa(os.Getpid()) {
			fds = "2" // the third descriptor of a test is not for taking
		}
		env := map[string]string{"NOTIFY_SOCKET": path, "WATCHDOG_USEC": usec, "WATCHDOG_PID": watchdogPID, "LISTEN_PID": listenPID, "LISTEN_FDS": fds}
		lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
		if ln, err := Inherited(lookup); ln != nil || err != nil && !isUsage(err) {
			t.Fatalf("%q: %v %v", env, ln, err)
		}
		if n, err := NewNotifier(lookup); err == nil && n != nil {
			n.conn.Close()
		}
		pace := watchdogTime(lookup)
		if want, err := strconv.ParseInt(usec, 10, 64); pace != 0 && (err != nil || pace/time.Microsecond != time.Duration(want)) || pace < 0 {
			t.Fatalf("%q: a sign of life every %v", env, pace)
		}
	})
}
