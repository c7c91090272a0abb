package reader

import (
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

// A param is one query parameter, as a bit, so that a route can name those it
// takes and a request those it gave.
type param uint32

const (
	paramMinSeq param = 1 << iota
	paramWait
	paramLimit
	paramCursor
	paramClassID
	paramKey
	paramOwner
	paramKind
	paramX
	paramY
	paramWidth
	paramHeight
	paramAfter
	paramPrefix
	paramOrder
	paramBefore
	paramIdempotencyKey
	paramContainerID
	paramInstanceID
	paramFromSeq
	paramToSeq
	paramFromTime
	paramToTime
	paramAtSeq
	paramAtTime

	paramsOfRegion = paramX | paramY | paramWidth | paramHeight
	paramsOfList   = paramLimit | paramCursor
	paramsOfAll    = paramMinSeq | paramWait // every read takes these

	paramsOfHistory = paramInstanceID | paramFromSeq | paramToSeq | paramFromTime | paramToTime
	paramsOfPast    = paramAtSeq | paramAtTime
)

// paramSpecs is indexed by the bit's number. Integers lie in lowest .. 2^63-1.
var paramSpecs = [...]struct {
	name   string
	lowest int64
}{
	{"min_seq", 0}, {"wait", 0}, {"limit", 1}, {"cursor", 0}, {"class_id", 1}, {"key", 0}, {"owner", 1}, {"kind", 0},
	{"x", 0}, {"y", 0}, {"width", 1}, {"height", 1}, {"after", 0}, {"prefix", 0}, {"order", 0}, {"before", 0}, {"idempotency_key", 0},
	{"container_id", 1}, {"instance_id", 1}, {"from_seq", 0}, {"to_seq", 0}, {"from_time", 0}, {"to_time", 0}, {"at_seq", 0}, {"at_time", 0},
}

// Limits of the parameters that every list or every read takes.
const (
	defaultLimit = 1000
	maxLimit     = 10_000
	defaultWait  = time.Second
	maxWait      = 30 * time.Second
)

// headerMinSeq is min_seq as a header.
const headerMinSeq = "X-Asset-Min-Seq"

// params are the parameters of one read, judged one by one.
type params struct {
	given               param
	MinSeq, After       uint64
	Before              uint64
	Newest              bool // order=newest
	InstanceID          int64
	FromSeq, ToSeq      uint64
	FromTime, ToTime    int64 // Unix nanoseconds
	AtSeq               uint64
	AtTime              int64  // Unix nanoseconds
	CursorAt            uint64 // at_seq of the cursor + 1; 0: it is not of the past
	IdempotencyKey      string
	Wait                time.Duration
	Limit               int
	ClassID, Key, Owner int64
	ClassCode           string // in place of ClassID; "": none
	ContainerID         int64
	ContainerName       string // in place of ContainerID; "": none
	Kind                ledger.ContainerKind
	Region              ledger.Rect
	Prefix              string
	Cursor              cursor
	CursorName          string // of a list by name, in place of Cursor
}

// has reports whether every one of the parameters was given.
func (p *params) has(want param) bool { return p.given&want == want }

// badParam is the refusal of a path or query parameter or a header.
func badParam(name, format string, args ...any) *ledger.Error {
	return ledger.Errorf(ledger.InvalidParameter, format, args...).With(ledger.Text("parameter", name))
}

// parse reads the query, which may hold each of the allowed parameters
// once and no other. list says which list a cursor must be of.
func (p *params) parse(rawQuery string, allowed param, list listKind) *ledger.Error {
	*p = params{Wait: defaultWait, Limit: defaultLimit}
	for rawQuery != "" {
		var pair string
		pair, rawQuery, _ = strings.Cut(rawQuery, "&")
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(rawName)
		if err != nil {
			return badParam(httpserver.Shorten(rawName), "The name of a query parameter is badly escaped: %s.", httpserver.Shorten(rawName))
		}
		bit := paramNamed(name)
		if bit < 0 || allowed&(1<<bit) == 0 {
			return badParam(httpserver.Shorten(name), "There is no query parameter %q here.", httpserver.Shorten(name))
		}
		value, err := url.QueryUnescape(rawValue)
		if err != nil {
			return badParam(name, "The value of %s is badly escaped: %s.", name, httpserver.Shorten(rawValue))
		}
		if p.given&(1<<bit) != 0 {
			return badParam(name, "The query parameter %s is given more than once.", name)
		}
		p.given |= 1 << bit
		if err := p.set(1<<bit, bit, value, list); err != nil {
			return err
		}
	}
	return p.together(list)
}

func paramNamed(name string) int {
	for i := range paramSpecs {
		if paramSpecs[i].name == name {
			return i
		}
	}
	return -1
}

// set judges and keeps one value.
func (p *params) set(which param, bit int, value string, list listKind) *ledger.Error {
	spec := paramSpecs[bit]
	switch which {
	case paramWait:
		return p.setWait(value)
	case paramKind:
		kind, ok := ledger.ParseContainerKind(value)
		if !ok {
			return badParam(spec.name, "There is no container kind %q; the kinds are Standard, Slots and Grid.", httpserver.Shorten(value))
		}
		p.Kind = kind
		return nil
	case paramCursor:
		return p.setCursor(value, list)
	case paramPrefix:
		if !ledger.ValidNamePrefix(value) {
			return badParam(spec.name, "No container name begins with %q.", httpserver.Shorten(value))
		}
		p.Prefix = value
		return nil
	case paramFromTime, paramToTime, paramAtTime:
		return p.setTime(which, spec.name, value)
	case paramOrder, paramIdempotencyKey:
		return p.setText(which, spec.name, value)
	}
	if which == paramClassID && ledger.ValidClassCode(value) {
		p.ClassCode = value
		return nil
	}
	if which == paramContainerID && ledger.ValidContainerName(value) {
		p.ContainerName = value
		return nil
	}
	v, ok := parseInteger(value, which == paramLimit)
	if !ok || v < spec.lowest {
		or := ""
		switch which {
		case paramClassID:
			or = " or a class's code"
		case paramContainerID:
			or = " or a container's name"
		}
		return badParam(spec.name, "The query parameter %s must be an integer from %d%s, and is %q.", spec.name, spec.lowest, or, httpserver.Shorten(value))
	}
	switch which {
	case paramMinSeq:
		p.MinSeq = uint64(v)
	case paramAfter:
		p.After = uint64(v)
	case paramBefore:
		p.Before = uint64(v)
	case paramLimit:
		p.Limit = int(min(v, maxLimit))
	case paramClassID:
		p.ClassID = v
	case paramContainerID:
		p.ContainerID = v
	case paramKey:
		p.Key = v
	case paramInstanceID:
		p.InstanceID = v
	case paramFromSeq:
		p.FromSeq = uint64(v)
	case paramToSeq:
		p.ToSeq = uint64(v)
	case paramAtSeq:
		p.AtSeq = uint64(v)
	case paramOwner:
		p.Owner = v
	default:
		// Beyond twice the largest side a region has nothing to touch: bounded, so that sums can't overflow.
		v = min(v, 2*ledger.MaxSide)
		switch which {
		case paramX:
			p.Region.X = v
		case paramY:
			p.Region.Y = v
		case paramWidth:
			p.Region.Width = v
		case paramHeight:
			p.Region.Height = v
		}
	}
	return nil
}

// setCursor keeps a cursor of the list, or of its variant by name.
func (p *params) setCursor(value string, list listKind) *ledger.Error {
	c, ok := parseCursor(value, list)
	if !ok {
		c, p.CursorAt, ok = parsePastCursor(value, list)
	}
	if !ok && list == listContainers {
		p.CursorName, ok = parseNameCursor(value)
	}
	if !ok {
		return badCursor(value)
	}
	p.Cursor = c
	return nil
}

func badCursor(value string) *ledger.Error {
	return badParam("cursor", "The cursor is not one that this list gave: %q.", httpserver.Shorten(value))
}

// setTime judges and keeps a time.
func (p *params) setTime(which param, name, value string) *ledger.Error {
	at, ok := parseMoment(value)
	if !ok {
		return badParam(name, "The query parameter %s must be a time of RFC 3339 such as 2026-01-31T12:00:00Z, and is %q.", name, httpserver.Shorten(value))
	}
	switch which {
	case paramFromTime:
		p.FromTime = at
	case paramToTime:
		p.ToTime = at
	default:
		p.AtTime = at
	}
	return nil
}

// setText judges and keeps a parameter that is a word.
func (p *params) setText(which param, name, value string) *ledger.Error {
	switch {
	case which == paramIdempotencyKey && ledger.ValidIdempotencyKey(value):
		p.IdempotencyKey = value
	case which == paramIdempotencyKey:
		return badParam(name, "An idempotency key is 1 to %d bytes of printable ASCII, and not %q.", ledger.MaxKeyLength, httpserver.Shorten(value))
	case value == "newest":
		p.Newest = true
	case value != "oldest":
		return badParam(name, "The order is oldest or newest, and not %q.", httpserver.Shorten(value))
	}
	return nil
}

// together judges the parameters that depend on each other.
func (p *params) together(list listKind) *ledger.Error {
	if p.has(paramIdempotencyKey) && p.given&^(paramIdempotencyKey|paramsOfAll) != 0 {
		return badParam("idempotency_key", "An idempotency key names one commit: leave order, before, after, limit and cursor out.")
	}
	if p.has(paramCursor) && !p.cursorFits(list) {
		return badParam("cursor", "The cursor is of another order of this list: send the cursor with the parameters that it came from.")
	}
	return p.regionWhole()
}

// cursorFits reports whether the cursor is of the order that is asked for.
func (p *params) cursorFits(list listKind) bool {
	switch list {
	case listContainers:
		return p.has(paramPrefix) == (p.CursorName != "")
	case listCommits:
		return p.Newest == (p.Cursor.B == newestFirst)
	}
	return true
}

// longDuration matches what time.ParseDuration accepts that is not negative. It
// recognizes durations of more than 2^63-1 nanoseconds, which are an error there.
var longDuration = regexp.MustCompile(`^\+?((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$`)

func (p *params) setWait(value string) *ledger.Error {
	wait, err := time.ParseDuration(value)
	if err != nil && longDuration.MatchString(value) {
		wait, err = maxWait, nil
	}
	if err != nil || wait < 0 {
		return badParam("wait", "The query parameter wait must be a duration of 0 or more such as 500ms, and is %q.", httpserver.Shorten(value))
	}
	p.Wait = min(wait, maxWait)
	return nil
}

// regionWhole refuses a region of which a part is missing.
func (p *params) regionWhole() *ledger.Error {
	if got := p.given & paramsOfRegion; got == 0 || got == paramsOfRegion {
		return nil
	}
	for i := range paramSpecs {
		if missing := param(1<<i) & paramsOfRegion &^ p.given; missing != 0 {
			return badParam(paramSpecs[i].name, "A region needs x, y, width and height: %s is missing.", paramSpecs[i].name)
		}
	}
	return nil
}

// header reads min_seq from its header, which may be given beside the
// parameter if it says the same.
func (p *params) header(values []string) *ledger.Error {
	if len(values) == 0 {
		return nil
	}
	if len(values) > 1 {
		return badParam(headerMinSeq, "The header %s is given more than once.", headerMinSeq)
	}
	v, ok := parseInteger(values[0], false)
	if !ok {
		return badParam(headerMinSeq, "The header %s must be an integer from 0, and is %q.", headerMinSeq, httpserver.Shorten(values[0]))
	}
	if p.has(paramMinSeq) && p.MinSeq != uint64(v) {
		return badParam(headerMinSeq, "The header %s says %d and the query parameter min_seq %d: send one of them.", headerMinSeq, v, p.MinSeq)
	}
	p.given |= paramMinSeq
	p.MinSeq = uint64(v)
	return nil
}

// parseInteger reads a decimal integer from 0 to 2^63-1 as JSON would spell
// it: digits alone, no needless zero in front. With lower, a larger one is
// read as 2^63-1.
func parseInteger(s string, lower bool) (v int64, ok bool) {
	if s == "" || len(s) > 1 && s[0] == '0' {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil && lower {
		return math.MaxInt64, true
	}
	return v, err == nil
}

// A naming says what beside an integer the id in a path may be.
type naming uint8

const (
	byInteger naming = iota
	byContainerName
	byClassCode
)

// pathID reads the id in the path: an integer from 1 to 2^63-1, or a name that
// something could have.
func pathID(param, value string, by naming) (id int64, name string, err *ledger.Error) {
	if v, ok := parseInteger(value, false); ok && v > 0 {
		return v, "", nil
	}
	or := ""
	switch by {
	case byContainerName:
		if ledger.ValidContainerName(value) {
			return 0, value, nil
		}
		or = " or a container's name"
	case byClassCode:
		if ledger.ValidClassCode(value) {
			return 0, value, nil
		}
		or = " or a class's code"
	}
	return 0, "", badParam(param, "The %s in the path must be an integer from 1 to 9223372036854775807%s, and is %q.", param, or, httpserver.Shorten(value))
}
