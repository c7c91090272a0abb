package ctl

import "flag"

var helpCommand = command{
	Words:    "help",
	Args:     "[COMMAND]…",
	Purpose:  "say what the commands do",
	Examples: [2]string{"help", "help read balances"},
	Setup: func(*flag.FlagSet) action {
		return func(c *call) error { return c.showHelp(c.args) }
	},
}

// showHelp writes the help of the command, or group of commands, that words
// name; of all for none.
func (c *call) showHelp(words []string) error {
	if len(words) == 0 {
		writeOverview(c.out, c.table, "")
		return nil
	}
	if len(words) == 1 && len(membersOf(c.table, words[0])) > 0 {
		writeOverview(c.out, c.table, words[0])
		return nil
	}
	cmd, _, err := resolve(c.table, words)
	if err != nil {
		return err
	}
	cmd.writeHelp(c.out)
	return nil
}
