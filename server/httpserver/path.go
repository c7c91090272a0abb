package httpserver

import (
	"strconv"
	"strings"

	"assetledger/ledger"
)

// PathInteger parses an integer from 1 to 2^63-1 in the path, spelled as in
// JSON: digits only, without leading zeros.
func (x *Exchange) PathInteger(name string) (int64, *ledger.Error) {
	text := x.R.PathValue(name)
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < 1 || strconv.FormatInt(v, 10) != text {
		return 0, badParameter(name, "The %s in the path must be an integer from 1 to 9223372036854775807, not %q.", name, Shorten(text))
	}
	return v, nil
}

// NoQuery rejects query parameters on a path that has none.
func (x *Exchange) NoQuery() *ledger.Error {
	if x.R.URL.RawQuery == "" {
		return nil
	}
	name, _, _ := strings.Cut(x.R.URL.RawQuery, "=")
	return badParameter(Shorten(name), "There is no query parameter %q here.", Shorten(name))
}

// badParameter returns the error for a path or query parameter.
func badParameter(name, format string, args ...any) *ledger.Error {
	return ledger.Errorf(ledger.InvalidParameter, format, args...).With(ledger.Text("parameter", name))
}
