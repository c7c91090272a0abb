package ctl

import "flag"

var completionCommand = command{
	Words:   "completion",
	Args:    "SHELL",
	Choices: []string{"bash", "zsh", "fish"},
	Purpose: "write the script that completes ledgerctl's words in bash, zsh or fish",
	Notes: "It completes commands, flags, their values, and the names of operations and of their arguments. bash: put the first example into ~/.bashrc. zsh: source <(ledgerctl completion zsh), after\n" +
		"compinit, in ~/.zshrc. fish: the second example.",
	Examples: [2]string{"completion bash > ledgerctl.bash && source ledgerctl.bash", "completion fish > ~/.config/fish/completions/ledgerctl.fish"},
	Setup: func(*flag.FlagSet) action {
		return func(c *call) error {
			script, ok := completionScripts[c.args[0]]
			if !ok {
				return usagef("SHELL is %q, and must be bash, zsh or fish", c.args[0])
			}
			_, err := c.out.WriteString(script)
			return err
		}
	},
}

// The scripts pass the words before the cursor to ledgerctl __complete.
var completionScripts = map[string]string{
	"bash": `# bash completion of ledgerctl
_ledgerctl() {
	local line candidate word=${COMP_WORDS[COMP_CWORD]}
	COMPREPLY=()
	while IFS= read -r line; do
		candidate=${line%%$'\t'*}
		if [[ $candidate == :files ]]; then
			compopt -o filenames 2>/dev/null
			while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$word")
			return
		fi
		[[ $candidate == *= ]] && compopt -o nospace 2>/dev/null
		# bash takes words apart at each =.
		[[ $word == = || ${COMP_WORDS[COMP_CWORD - 1]} == = ]] && candidate=${candidate#*=}
		COMPREPLY+=("$candidate")
	done < <("${COMP_WORDS[0]}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _ledgerctl ledgerctl
`,
	"zsh": `#compdef ledgerctl
# zsh completion of ledgerctl
_ledgerctl() {
	local -a going ended
	local line word meaning
	while IFS= read -r line; do
		word=${line%%$'\t'*} meaning=${line#*$'\t'}
		if [[ $word == :files ]]; then
			_files
			return
		fi
		if [[ $word == *= ]]; then going+=("${word//:/\\:}:$meaning"); else ended+=("${word//:/\\:}:$meaning"); fi
	done < <("${words[1]}" __complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
	(( ${#going} )) && _describe -t words 'word' going -S ''
	(( ${#ended} )) && _describe -t words 'word' ended
}
compdef _ledgerctl ledgerctl
`,
	"fish": `# fish completion of ledgerctl
function __ledgerctl_complete
	set -l words (commandline -opc) (commandline -ct)
	set -e words[1]
	for line in (ledgerctl __complete -- $words 2>/dev/null)
		if string match -q ':files*' -- $line
			__fish_complete_path (commandline -ct)
		else
			echo $line
		end
	end
end
complete -c ledgerctl -f -k -a '(__ledgerctl_complete)'
`,
}
