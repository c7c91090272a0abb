package ctl

import (
	"flag"
	"fmt"
)

var metricsCommand = command{
	Words:    "metrics",
	Purpose:  "show the daemons' metrics as they give them",
	Notes:    "Without -write or -read both are shown, each after a comment that names it.",
	Examples: [2]string{"metrics -write", "metrics -read | grep lag"},
	Setup: func(set *flag.FlagSet) action {
		w := &which{}
		w.declare(set)
		return w.metrics
	},
}

func (w *which) metrics(c *call) error {
	daemons := w.daemons(c)
	for _, d := range daemons {
		a, err := c.get(d.url, "/v1/metrics", nil)
		if err != nil {
			return err
		}
		if len(daemons) > 1 {
			fmt.Fprintf(c.out, "# %s daemon\n", d.name)
		}
		c.raw(a.Body)
	}
	return c.out.Flush()
}
