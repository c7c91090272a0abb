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

// quantity shows a quantity of the class for people. The class is asked for
// once in a run.
func (c *call) quantity(class int64, minor json.Number) (string, error) {
	decimals, ok := c.decimals[class]
	if !ok {
		answer, err := c.get(c.readURL, "/v1/read/class/"+strconv.FormatInt(class, 10), nil)
		if err != nil {
			return "", err
		}
		var page struct{ Data classData }
		if err := answer.decode(&page); err != nil {
			return "", err
		}
		if c.decimals == nil {
			c.decimals = map[int64]int{}
		}
		decimals = page.Data.Decimals
		c.decimals[class] = decimals
	}
	return withDecimals(minor.String(), decimals), nil
}
