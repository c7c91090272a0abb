package ctl

import (
	"flag"
	"strconv"
)

var readShapesCommand = command{
	Words:    "read shapes",
	Args:     "CLASS_ID",
	Purpose:  "list the shapes of a class",
	Notes:    "The key \"any\" is the shape of all keys that have none of their own.",
	Examples: [2]string{"read shapes 2", "read shapes 2 -o json"},
	Setup: func(set *flag.FlagSet) action {
		return itemAction(set, "CLASS_ID", "/v1/read/class/", "/shapes", showShapes)
	},
}

func showShapes(c *call, a *answer) error {
	var page struct {
		Data struct {
			Shapes []struct {
				Key           *int64
				Width, Height int
			}
		}
	}
	if err := a.decode(&page); err != nil {
		return err
	}
	t := c.newTable(numeric("key"), numeric("width"), numeric("height"))
	for _, s := range page.Data.Shapes {
		key := "any"
		if s.Key != nil {
			key = strconv.FormatInt(*s.Key, 10)
		}
		t.row(key, strconv.Itoa(s.Width), strconv.Itoa(s.Height))
	}
	t.flush()
	return nil
}
