package ctl

import "flag"

var reverseCommand = command{
	Words:   "reverse",
	Args:    "GLOBAL_SEQ",
	Purpose: "take a commit back by a new commit of the inverse operations",
	Notes: "GLOBAL_SEQ is the number of the commit, as its answer, statement, history and read commits show it.\n" +
		"It is refused if what the commit did can't be undone any more, such as a payment that was spent. A settled\n" +
		"hold can't be reversed either: transfer the amount back. It shows the operations that it made, if there is a read\n" +
		"daemon.",
	Examples: [2]string{"reverse 17 -dry-run", "reverse 17 -key undo-17 -metadata '{\"why\":\"paid twice\"}'"},
	Setup: func(set *flag.FlagSet) action {
		var tx txFlags
		dryRun := declareDryRun(set)
		set.StringVar(&tx.metadata, "metadata", "", "`JSON` object to keep with the commit")
		declareKey(set, &tx.key)
		return func(c *call) error {
			seq, err := c.ref(0, "GLOBAL_SEQ")
			if err != nil {
				return err
			}
			body, err := tx.appendMetadata([]byte("{"), "")
			if err != nil {
				return err
			}
			body = append(body, '}')
			path := "/v1/commit/" + seq + "/reverse"
			if *dryRun {
				return c.preflight(path+"/preflight", body, tx.key)
			}
			return c.commitAt(path, body, tx.key)
		}
	},
}
