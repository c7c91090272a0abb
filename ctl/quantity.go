package ctl

import (
	"cmp"
	"encoding/json"
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

// isInteger reports whether the text is digits, after a sign or none.
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
	Fungible *bool // nil of a daemon that doesn't say
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
func (c *call) class(ref string) (*classData, error) {
	if d, ok := c.classes[ref]; ok {
		return d, nil
	}
	if checkRef("CLASS", ref) != nil {
		return nil, fmt.Errorf("the answer of %s is not what the ledger says: it has the class %q", c.readURL, ref)
	}
	answer, err := c.readFresh("/v1/read/class/" + url.PathEscape(ref))
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

func (c *call) classByID(id int64) (*classData, error) { return c.class(strconv.FormatInt(id, 10)) }

// readFresh reads what may have been made just before. What isn't there is
// asked for once more, when the read daemon has come to the end of the log.
func (c *call) readFresh(path string) (*answer, error) {
	r := request{method: http.MethodGet, base: c.readURL, path: path}
	a, err := c.askQuietly(r)
	if err != nil {
		return nil, err
	}
	if a.status == http.StatusNotFound {
		last, err := c.lastSeq()
		if err != nil {
			return nil, err
		}
		r.query = url.Values{"min_seq": {strconv.FormatInt(last, 10)}}
		if a, err = c.askQuietly(r); err != nil {
			return nil, err
		}
	}
	return a, c.refusal(a)
}

// amountsOf shows the amounts in the details of a refusal, if they are of a
// class that is known in this run and their digits alone don't say it.
func (c *call) amountsOf(details json.RawMessage) string {
	var d entry
	if json.Unmarshal(details, &d) != nil {
		return ""
	}
	var class *classData
	for _, known := range c.classes {
		if id := d["class_id"]; id == nil && len(c.classes) == 1 || string(id) == strconv.FormatInt(known.ClassID, 10) {
			class = known
		}
	}
	if class == nil || class.Decimals == 0 && class.Code == "" {
		return ""
	}
	var list []string
	for _, name := range []string{"quantity", "available", "held", "requested"} {
		if amount := string(d[name]); amount != "" {
			list = append(list, fmt.Sprintf("%s %s %s", name, class.show(amount), class.label()))
		}
	}
	if list == nil {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}
