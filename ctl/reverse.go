package ctl

import "flag"

var reverseCommand = command{
	Words:   "reverse",
	Args:    "GLOBAL_SEQ",
	Purpose: "take a commit back by a new commit of the inverse operations",
	Notes: "It is refused if what the commit did can't be undone any more, such as a payment that was spent. ledgerctl\n" +
		"read commit shows the operations of the new commit.",
	Examples: [2]string{"reverse 17", "reverse 17 -key undo-17 -metadata '{\"why\":\"paid twice\"}'"},
	Setup: func(set *flag.FlagSet) action {
		var tx txFlags
		set.StringVar(&tx.metadata, "metadata", "", "`JSON` object to keep with the commit")
		declareKey(set, &tx.key)
		return func(c *call) error {
			seq, err := c.ref(0, "GLOBAL_SEQ")
			if err != nil {
				return err
			}
			if err := checkKey(tx.key); err != nil {
				return err
			}
			body, err := tx.appendMetadata([]byte("{"), "")
			if err != nil {
				return err
			}
			return c.commitAt("/v1/commit/"+seq+"/reverse", append(body, '}'), tx.key, tx.key != "")
		}
	},
}
