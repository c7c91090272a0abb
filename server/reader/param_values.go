package reader

import (
	"math"
	"regexp"
	"strconv"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

// longDuration matches the non-negative durations with a unit that
// time.ParseDuration accepts. It also matches durations of more than 2^63-1
// nanoseconds, for which ParseDuration returns an error.
var longDuration = regexp.MustCompile(`^\+?((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$`)

func (p *params) setWait(value string) *ledger.Error {
	wait, err := time.ParseDuration(value)
	if err != nil && longDuration.MatchString(value) {
		wait, err = maxWait, nil
	}
	if err != nil || wait < 0 {
		return badParam("wait", "The query parameter wait must be a duration of 0 or more such as 500ms, not %q.", httpserver.Shorten(value))
	}
	p.Wait = min(wait, maxWait)
	return nil
}

// regionWhole returns an error if only some of x, y, width and height are given.
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

// header parses the header that holds min_seq. The query may have min_seq too if
// the values are equal.
func (p *params) header(values []string) *ledger.Error {
	if len(values) == 0 {
		return nil
	}
	if len(values) > 1 {
		return badParam(headerMinSeq, "The header %s is given more than once.", headerMinSeq)
	}
	v, ok := parseInteger(values[0], false)
	if !ok {
		return badParam(headerMinSeq, "The header %s must be an integer from 0, not %q.", headerMinSeq, httpserver.Shorten(values[0]))
	}
	if p.has(paramMinSeq) && p.MinSeq != uint64(v) {
		return badParam(headerMinSeq, "The header %s says %d and the query parameter min_seq %d: send one of them.", headerMinSeq, v, p.MinSeq)
	}
	p.given |= paramMinSeq
	p.MinSeq = uint64(v)
	return nil
}

// parseInteger parses a decimal integer from 0 to 2^63-1 as JSON spells it: only
// digits, and no leading zeros. If lower is set, it returns 2^63-1 for a larger
// integer.
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

// A naming says which names, besides an integer id, a path may contain.
type naming uint8

const (
	byInteger naming = iota
	byContainerName
	byClassCode
)

// pathID parses the id in the path: an integer from 1 to 2^63-1 or, if the naming
// allows names, a syntactically valid one.
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
	return 0, "", badParam(param, "The %s in the path must be an integer from 1 to 9223372036854775807%s, not %q.", param, or, httpserver.Shorten(value))
}
