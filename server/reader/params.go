package reader

import (
	"net/url"
	"strings"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

// A param is a set of query parameters, with one bit for each. A route has the
// set of those that it takes, and a request the set of those that it contains.
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
	paramPayer

	paramsOfRegion = paramX | paramY | paramWidth | paramHeight
	paramsOfList   = paramLimit | paramCursor
	paramsOfAll    = paramMinSeq | paramWait // every read takes these

	paramsOfHistory = paramInstanceID | paramFromSeq | paramToSeq | paramFromTime | paramToTime | paramPayer
	paramsOfPast    = paramAtSeq | paramAtTime
)

// paramSpecs is indexed by the number of a param's bit. The range of an integer
// begins at lowest and ends at 2^63-1.
var paramSpecs = [...]struct {
	name   string
	lowest int64
}{
	{"min_seq", 0}, {"wait", 0}, {"limit", 1}, {"cursor", 0}, {"class_id", 1}, {"key", 0}, {"owner", 1}, {"kind", 0},
	{"x", 0}, {"y", 0}, {"width", 1}, {"height", 1}, {"after", 0}, {"prefix", 0}, {"order", 0}, {"before", 0}, {"idempotency_key", 0},
	{"container_id", 1}, {"instance_id", 1}, {"from_seq", 0}, {"to_seq", 0}, {"from_time", 0}, {"to_time", 0}, {"at_seq", 0}, {"at_time", 0}, {"payer", 0},
}

// Defaults and maximums of the parameters that every list, or every read, takes.
const (
	defaultLimit = 1000
	maxLimit     = 10_000
	defaultWait  = time.Second
	maxWait      = 30 * time.Second
)

const headerMinSeq = "X-Asset-Min-Seq"

// params are the parsed parameters of one read.
type params struct {
	given               param
	MinSeq, After       uint64
	Before              uint64
	Newest              bool // order=newest
	Payer               bool
	InstanceID          int64
	FromSeq, ToSeq      uint64
	FromTime, ToTime    int64 // Unix nanoseconds
	AtSeq               uint64
	AtTime              int64  // Unix nanoseconds
	CursorAt            uint64 // 1 + the cursor's at_seq; 0 if the cursor does not come from a read of the past
	IdempotencyKey      string
	Wait                time.Duration
	Limit               int
	ClassID, Key, Owner int64
	ClassCode           string // set instead of ClassID; "" if unset
	ContainerID         int64
	ContainerName       string // set instead of ContainerID; "" if unset
	Kind                ledger.ContainerKind
	Region              ledger.Rect
	Prefix              string
	Cursor              cursor
	CursorName          string // cursor of a list ordered by name, set instead of Cursor
}

// has reports whether all parameters in want were given.
func (p *params) has(want param) bool { return p.given&want == want }

// badParam returns an InvalidParameter error that names a path or query parameter,
// or a header.
func badParam(name, format string, args ...any) *ledger.Error {
	return ledger.Errorf(ledger.InvalidParameter, format, args...).With(ledger.Text("parameter", name))
}

// parse parses the query. It returns an error for a parameter that is not allowed,
// is given twice, or has an invalid value, and for parameters that exclude each
// other. A cursor must belong to the given list.
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

// set checks and stores one value.
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
	case paramPayer:
		if value != "true" && value != "false" {
			return badParam(spec.name, "The query parameter payer must be true or false, not %q.", httpserver.Shorten(value))
		}
		p.Payer = value == "true"
		return nil
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
		return badParam(spec.name, "The query parameter %s must be an integer from %d%s, not %q.", spec.name, spec.lowest, or, httpserver.Shorten(value))
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
		// Twice the largest side is beyond every grid. The bound keeps sums from
		// overflowing.
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

// setCursor checks and stores a cursor of the list. The cursor may come from a read
// of the past, or from a list ordered by name.
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
	return badParam("cursor", "The cursor %q does not belong to this list.", httpserver.Shorten(value))
}

// setTime checks and stores a time.
func (p *params) setTime(which param, name, value string) *ledger.Error {
	at, ok := parseMoment(value)
	if !ok {
		return badParam(name, "The query parameter %s must be an RFC 3339 time such as 2026-01-31T12:00:00Z, not %q.", name, httpserver.Shorten(value))
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

// setText checks and stores an order or an idempotency key.
func (p *params) setText(which param, name, value string) *ledger.Error {
	switch {
	case which == paramIdempotencyKey && ledger.ValidIdempotencyKey(value):
		p.IdempotencyKey = value
	case which == paramIdempotencyKey:
		return badParam(name, "An idempotency key is 1 to %d bytes of printable ASCII, not %q.", ledger.MaxKeyLength, httpserver.Shorten(value))
	case value == "newest":
		p.Newest = true
	case value != "oldest":
		return badParam(name, "The order is oldest or newest, not %q.", httpserver.Shorten(value))
	}
	return nil
}

// together checks the parameters that depend on each other.
func (p *params) together(list listKind) *ledger.Error {
	if p.has(paramIdempotencyKey) && p.given&^(paramIdempotencyKey|paramsOfAll) != 0 {
		return badParam("idempotency_key", "An idempotency key names one commit: omit order, before, after, limit and cursor.")
	}
	if p.has(paramCursor) && !p.cursorFits(list) {
		return badParam("cursor", "The cursor belongs to another order of this list: send it with the same parameters as the request that returned it.")
	}
	return p.regionWhole()
}

// cursorFits reports whether the cursor comes from a list in the requested order.
func (p *params) cursorFits(list listKind) bool {
	switch list {
	case listContainers:
		return p.has(paramPrefix) == (p.CursorName != "")
	case listCommits:
		return p.Newest == (p.Cursor.B == newestFirst)
	case listHistory:
		oldest := p.has(paramOrder) && !p.Newest // the default is newest
		return oldest == (p.Cursor.B&oldestFirst != 0)
	}
	return true
}
