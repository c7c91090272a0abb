package reader

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetledger/ledger"
)

func TestParams(t *testing.T) {
	anyCursor := string(cursor{7, 9}.append(nil, listGrid))
	all := paramsOfAll | paramsOfList | paramClassID | paramKey | paramOwner | paramKind | paramsOfRegion | paramAfter | paramPrefix | paramOrder | paramBefore | paramIdempotencyKey | paramContainerID
	plain := params{Wait: time.Second, Limit: 1000}
	with := func(given param, set func(*params)) params {
		p := plain
		p.given = given
		set(&p)
		return p
	}
	for _, c := range []struct {
		query string
		want  params
		bad   string // the rejected parameter
	}{
		{"", plain, ""},
		{"&&", plain, ""},
		{"min_seq=0", with(paramMinSeq, func(p *params) {}), ""},
		{"min_seq=9223372036854775807", with(paramMinSeq, func(p *params) { p.MinSeq = math.MaxInt64 }), ""},
		{"min_seq=9223372036854775808", plain, "min_seq"},
		{"min_seq=-1", plain, "min_seq"},
		{"min_seq=", plain, "min_seq"},
		{"min_seq", plain, "min_seq"},
		{"min_seq=1&min_seq=1", plain, "min_seq"},
		{"%6Din_seq=%31", with(paramMinSeq, func(p *params) { p.MinSeq = 1 }), ""},
		{"min_seq=%3", plain, "min_seq"},
		{"%zz=1", plain, "%zz"},
		{"wait=1500ms", with(paramWait, func(p *params) { p.Wait = 1500 * time.Millisecond }), ""},
		{"wait=0", with(paramWait, func(p *params) { p.Wait = 0 }), ""},
		{"wait=31s", with(paramWait, func(p *params) { p.Wait = 30 * time.Second }), ""},
		{"wait=2562048h", with(paramWait, func(p *params) { p.Wait = 30 * time.Second }), ""},
		{"wait=%2B99999999999999999999h5.5m.5s", with(paramWait, func(p *params) { p.Wait = 30 * time.Second }), ""},
		{"wait=-2562048h", plain, "wait"},
		{"wait=99999999999999999999", plain, "wait"},
		{"wait=99999999999999999999h5", plain, "wait"},
		{"wait=99999999999999999999y", plain, "wait"},
		{"wait=-1s", plain, "wait"},
		{"wait=5", plain, "wait"},
		{"limit=1", with(paramLimit, func(p *params) { p.Limit = 1 }), ""},
		{"limit=10001", with(paramLimit, func(p *params) { p.Limit = 10_000 }), ""},
		{"limit=99999999999999999999999", with(paramLimit, func(p *params) { p.Limit = 10_000 }), ""},
		{"limit=0", plain, "limit"},
		{"limit=-5", plain, "limit"},
		{"limit=1.0", plain, "limit"},
		{"class_id=1&key=0&owner=3", with(paramClassID|paramKey|paramOwner, func(p *params) { p.ClassID, p.Owner = 1, 3 }), ""},
		{"class_id=0", plain, "class_id"},
		{"class_id=01", plain, "class_id"},
		{"class_id=EUR", with(paramClassID, func(p *params) { p.ClassCode = "EUR" }), ""},
		{"class_id=a%2Fb%2B", with(paramClassID, func(p *params) { p.ClassCode = "a/b+" }), ""},
		{"class_id=a+b", plain, "class_id"},
		{"class_id=" + strings.Repeat("x", 33), plain, "class_id"},
		{"key=EUR", plain, "key"},
		{"prefix=", with(paramPrefix, func(p *params) {}), ""},
		{"prefix=42", with(paramPrefix, func(p *params) { p.Prefix = "42" }), ""},
		{"prefix=users/", with(paramPrefix, func(p *params) { p.Prefix = "users/" }), ""},
		{"prefix=/", plain, "prefix"},
		{"prefix=" + strings.Repeat("1", 128), plain, "prefix"},
		{"prefix=" + strings.Repeat("1", 127), with(paramPrefix, func(p *params) { p.Prefix = strings.Repeat("1", 127) }), ""},
		{"class_id=+1", plain, "class_id"},
		{"key=-0", plain, "key"},
		{"key=0x1", plain, "key"},
		{"owner=null", plain, "owner"},
		{"owner=0", plain, "owner"},
		{"kind=Grid", with(paramKind, func(p *params) { p.Kind = ledger.Grid }), ""},
		{"kind=grid", plain, "kind"},
		{"before=0", with(paramBefore, func(p *params) {}), ""},
		{"before=-1", plain, "before"},
		{"order=newest", with(paramOrder, func(p *params) { p.Newest = true }), ""},
		{"order=oldest", with(paramOrder, func(p *params) {}), ""},
		{"order=Newest", plain, "order"},
		{"order=", plain, "order"},
		{"idempotency_key=a%20b&min_seq=1", with(paramIdempotencyKey|paramMinSeq, func(p *params) { p.IdempotencyKey, p.MinSeq = "a b", 1 }), ""},
		{"idempotency_key=", plain, "idempotency_key"},
		{"idempotency_key=%C3%A4", plain, "idempotency_key"},
		{"idempotency_key=" + strings.Repeat("k", 256), plain, "idempotency_key"},
		{"idempotency_key=a&limit=1", plain, "idempotency_key"},
		{"after=0&idempotency_key=a", plain, "idempotency_key"},
		{"order=oldest&idempotency_key=a", plain, "idempotency_key"},
		{"container_id=3", with(paramContainerID, func(p *params) { p.ContainerID = 3 }), ""},
		{"container_id=a%2Fb", with(paramContainerID, func(p *params) { p.ContainerName = "a/b" }), ""},
		{"container_id=-a", plain, "container_id"},
		{"after=5", with(paramAfter, func(p *params) { p.After = 5 }), ""},
		{"x=0&y=1&width=2&height=9223372036854775807", with(paramsOfRegion, func(p *params) { p.Region = ledger.Rect{Y: 1, Width: 2, Height: 2048} }), ""},
		{"x=0&y=1&width=2", plain, "height"},
		{"y=1", plain, "x"},
		{"x=0&y=0&width=0&height=1", plain, "width"},
		{"x=-1&y=0&width=1&height=1", plain, "x"},
		{"cursor=" + anyCursor, with(paramCursor, func(p *params) { p.Cursor = cursor{7, 9} }), ""},
		{"cursor=garbage", plain, "cursor"},
		{"nonsense=1", plain, "nonsense"},
		{"Limit=1", plain, "Limit"},
		{strings.Repeat("a", 100), plain, strings.Repeat("a", 64) + "…"},
	} {
		var p params
		err := p.parse(c.query, all, listGrid)
		if c.bad != "" {
			if err == nil || err.Code != ledger.InvalidParameter || len(err.Details) != 1 || err.Details[0] != ledger.Text("parameter", c.bad) {
				t.Errorf("%q: %v, want %s to be rejected", c.query, err, c.bad)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q was rejected: %v", c.query, err)
		} else if diff := cmp.Diff(c.want, p, cmp.AllowUnexported(params{})); diff != "" {
			t.Errorf("%q: -want +got:\n%s", c.query, diff)
		}
	}
	var p params
	if err := p.parse("limit=1", paramsOfAll, noList); err == nil {
		t.Error("a parameter of another route was accepted")
	}
}

func TestParamsDoNotAllocate(t *testing.T) {
	var p params
	if n := testing.AllocsPerRun(100, func() { p.parse("limit=10&class_id=5&min_seq=17", ^param(0), noList) }); n != 0 {
		t.Errorf("parsing a query allocates %v times, want 0", n)
	}
}

func TestMinSeqHeader(t *testing.T) {
	for _, c := range []struct {
		query  string
		values []string
		want   uint64
		bad    bool
	}{
		{"", nil, 0, false},
		{"min_seq=4", nil, 4, false},
		{"", []string{"5"}, 5, false},
		{"min_seq=5", []string{"5"}, 5, false},
		{"min_seq=5", []string{"6"}, 0, true},
		{"min_seq=0", []string{"6"}, 0, true},
		{"", []string{"-6"}, 0, true},
		{"", []string{""}, 0, true},
		{"", []string{"5", "5"}, 0, true},
	} {
		var p params
		if err := p.parse(c.query, paramsOfAll, noList); err != nil {
			t.Fatal(err)
		}
		err := p.header(c.values)
		if (err != nil) != c.bad || err == nil && p.MinSeq != c.want {
			t.Errorf("%q with the header %q: %d, error %v; want %d, an error: %v", c.query, c.values, p.MinSeq, err, c.want, c.bad)
		}
		if err != nil && (err.Code != ledger.InvalidParameter || err.Details[0] != ledger.Text("parameter", "X-Asset-Min-Seq")) {
			t.Errorf("%q with the header %q: %v, want InvalidParameter for the header", c.query, c.values, err)
		}
	}
}

func TestCursor(t *testing.T) {
	for _, c := range []cursor{{}, {1, 0}, {0, 1}, {math.MaxInt64, math.MaxInt64}} {
		text := string(c.append(nil, listBalances))
		if got, ok := parseCursor(text, listBalances); !ok || got != c {
			t.Errorf("%v came back as %v, %v", c, got, ok)
		}
		if _, ok := parseCursor(text, listSlots); ok {
			t.Errorf("%v was accepted by another list", c)
		}
		if _, ok := parseCursor(text[1:], listBalances); ok {
			t.Errorf("%v was accepted without its first character", c)
		}
	}
	if got := string(cursor{1, 2}.append(nil, listBalances)); got != "AQEAAAAAAAAAAQAAAAAAAAAC" {
		t.Errorf("cursors that clients hold are no longer valid: the same place is now encoded as %s", got)
	}
	for _, bad := range []string{"", "x", "AQEAAAAAAAAAAQAAAAAAAAA!", "AgEAAAAAAAAAAQAAAAAAAAAC", "AQH_________8QAAAAAAAAAC", "AQEAAAAAAAAAAQAAAAAAAAAC=", "\nQEAAAAAAAAAAQAAAAAAAAAC"} {
		if c, ok := parseCursor(bad, listBalances); ok {
			t.Errorf("%q was accepted as %v", bad, c)
		}
	}
}

func TestNameCursor(t *testing.T) {
	for _, name := range []string{"a", "users/42", strings.Repeat("x", ledger.MaxContainerName)} {
		text := string(appendNameCursor(nil, name))
		if got, ok := parseNameCursor(text); !ok || got != name {
			t.Errorf("%q came back as %q, %v", name, got, ok)
		}
		if _, ok := parseCursor(text, listContainers); ok {
			t.Errorf("%q was accepted as a place by id", name)
		}
	}
	if got := string(appendNameCursor(nil, "users/42")); got != "AQh1c2Vycy80Mg" {
		t.Errorf("cursors that clients hold are no longer valid: the same place is now encoded as %s", got)
	}
	for _, bad := range []string{"", "AQ", "AQg", "AQh1c2Vycy80Mh", "AQh1c2Vycy80M\ng", "AQkx", "AghhYmM", string(appendNameCursor(nil, "7")),
		string(appendNameCursor(nil, strings.Repeat("x", ledger.MaxContainerName+1))), string(cursor{1, 2}.append(nil, listContainers))} {
		if name, ok := parseNameCursor(bad); ok {
			t.Errorf("%q was accepted as %q", bad, name)
		}
	}
	for query, ok := range map[string]bool{
		"prefix=a&cursor=AQh1c2Vycy80Mg": true, "cursor=AQh1c2Vycy80Mg&prefix=a": true, "cursor=AQh1c2Vycy80Mg": false,
		"cursor=AQUAAAAAAAAAAwAAAAAAAAAA": true, "prefix=&cursor=AQUAAAAAAAAAAwAAAAAAAAAA": false,
	} {
		var p params
		if err := p.parse(query, ^param(0), listContainers); (err == nil) != ok {
			t.Errorf("%q: error %v, want it to be valid: %v", query, err, ok)
		}
	}
}

func TestCursorsOfCommits(t *testing.T) {
	oldest, newest := string(cursor{A: 4}.append(nil, listCommits)), string(cursor{4, newestFirst}.append(nil, listCommits))
	for query, ok := range map[string]bool{
		"cursor=" + oldest: true, "cursor=" + oldest + "&order=oldest": true, "order=newest&cursor=" + oldest: false,
		"cursor=" + newest: false, "cursor=" + newest + "&order=oldest": false, "cursor=" + newest + "&order=newest": true,
	} {
		var p params
		if err := p.parse(query, ^param(0), listCommits); (err == nil) != ok {
			t.Errorf("%q: error %v, want it to be valid: %v", query, err, ok)
		}
	}
}

func TestCursorsOfHistory(t *testing.T) {
	newest, oldest := string(cursor{4, 2}.append(nil, listHistory)), string(cursor{4, 2 | oldestFirst}.append(nil, listHistory))
	for query, ok := range map[string]bool{
		"cursor=" + newest: true, "cursor=" + newest + "&order=newest": true, "order=oldest&cursor=" + newest: false,
		"cursor=" + oldest: false, "cursor=" + oldest + "&order=newest": false, "cursor=" + oldest + "&order=oldest": true,
	} {
		var p params
		if err := p.parse(query, ^param(0), listHistory); (err == nil) != ok {
			t.Errorf("%q: error %v, want it to be valid: %v", query, err, ok)
		}
	}
}

func FuzzCursor(f *testing.F) {
	f.Add("AQEAAAAAAAAAAQAAAAAAAAAC")
	f.Add("AQh1c2Vycy80Mg")
	f.Fuzz(func(t *testing.T, s string) {
		if c, ok := parseCursor(s, listBalances); ok && string(c.append(nil, listBalances)) != s {
			t.Errorf("%q is a second spelling of %v", s, c)
		}
		if name, ok := parseNameCursor(s); ok && string(appendNameCursor(nil, name)) != s {
			t.Errorf("%q is a second spelling of %q", s, name)
		}
	})
}

func FuzzParams(f *testing.F) {
	f.Add("prefix=users%2F&class_id=EUR&cursor=AQh1c2Vycy80Mg")
	f.Add("limit=1&cursor=AQEAAAAAAAAAAQAAAAAAAAAC&x=1&y=1&width=1&height=1&wait=1s&kind=Grid")
	f.Fuzz(func(t *testing.T, query string) {
		var p params
		list := listBalances
		if strings.Contains(query, "prefix") {
			list = listContainers
		}
		if p.parse(query, ^param(0), list) != nil {
			return
		}
		if p.ClassCode != "" && p.ClassID != 0 || p.has(paramPrefix|paramCursor) && !ledger.ValidContainerName(p.CursorName) {
			t.Errorf("%q was parsed as %+v: a code and an id, or a cursor without a valid name", query, p)
		}
		if p.Limit < 1 || p.Limit > maxLimit || p.Wait < 0 || p.Wait > maxWait || p.MinSeq > math.MaxInt64 ||
			p.Region.X+p.Region.Width > 4*ledger.MaxSide || p.ClassID < 0 || p.Cursor.A < 0 {
			t.Errorf("%q was parsed as %+v: a value is out of range", query, p)
		}
	})
}
