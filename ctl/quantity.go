package ctl

import (
	"encoding/json"
	"strconv"
	"strings"
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

// quantity shows a quantity of the class for people.
func (c *call) quantity(class int64, minor json.Number) (string, error) {
	d, err := c.class(class)
	if err != nil {
		return "", err
	}
	return withDecimals(minor.String(), d.Decimals), nil
}

// class is what is registered of a class, which never changes: it is asked for
// once in a run.
func (c *call) class(id int64) (classData, error) {
	if d, ok := c.classes[id]; ok {
		return d, nil
	}
	answer, err := c.get(c.readURL, "/v1/read/class/"+strconv.FormatInt(id, 10), nil)
	if err != nil {
		return classData{}, err
	}
	var page struct{ Data classData }
	if err := answer.decode(&page); err != nil {
		return classData{}, err
	}
	if c.classes == nil {
		c.classes = map[int64]classData{}
	}
	c.classes[id] = page.Data
	return page.Data, nil
}
