package ctl

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"assetledger/ledger"
)

// withDecimals shows an integer of minor units with a class's decimals:
// "12345" and 2 give "123.45". It works on the digits, so it is exact for any
// length.
func withDecimals(minor string, decimals int) string {
	if decimals <= 0 {
		return minor
	}
	sign := ""
	if strings.HasPrefix(minor, "-") {
		sign, minor = "-", minor[1:]
	}
	if missing := decimals + 1 - len(minor); missing > 0 {
		minor = strings.Repeat("0", missing) + minor
	}
	point := len(minor) - decimals
	return sign + minor[:point] + "." + minor[point:]
}

// isInteger says whether the text is digits, after a sign or none.
func isInteger(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

// classData is what ledgerctl uses of a class.
type classData struct {
	ClassID  int64 `json:"class_id"`
	Code     string
	Name     string
	Decimals int
}

// label is the code of the class, or its name if it has none.
func (d *classData) label() string { return cmp.Or(d.Code, d.Name) }

// show shows a quantity of minor units.
func (d *classData) show(minor string) string {
	if !isInteger(minor) {
		return minor
	}
	return withDecimals(minor, d.Decimals)
}

// class reads a class, by id or code, once in a run: its decimals never change.
func (c *call) class(ref string) (*classData, error) { return c.classAt(ref, nil) }

func (c *call) classByID(id int64) (*classData, error) { return c.class(strconv.FormatInt(id, 10)) }

func (c *call) classAt(ref string, query url.Values) (*classData, error) {
	if d, ok := c.classes[ref]; ok {
		return d, nil
	}
	if err := checkRef("CLASS", ref); err != nil {
		return nil, fmt.Errorf("the answer of %s is not what the ledger says: it has the class %q", c.readURL, ref)
	}
	answer, err := c.askQuietly(request{method: http.MethodGet, base: c.readURL, path: "/v1/read/class/" + url.PathEscape(ref), query: query})
	if err == nil {
		err = answer.check()
	}
	if err != nil {
		return nil, err
	}
	var page struct{ Data classData }
	if err := answer.decode(&page); err != nil {
		return nil, err
	}
	if d := page.Data.Decimals; d < 0 || d > ledger.MaxDecimals {
		return nil, fmt.Errorf("the answer of %s is not what the ledger says: a class has %d decimals", answer.url, d)
	}
	if c.classes == nil {
		c.classes = map[string]*classData{}
	}
	c.classes[ref] = &page.Data
	return &page.Data, nil
}
