package ctl

import "flag"

var completionCommand = command{
	Words:   "completion",
	Args:    "SHELL",
	Choices: []string{"bash", "zsh", "fish"},
	Purpose: "write the script that completes ledgerctl's words in bash, zsh or fish",
	Notes: "It completes commands, flags, their values, and the names of operations and arguments, also inside\n" +
		"the quotes of -op. bash: put the first example into ~/.bashrc. zsh: source <(ledgerctl completion zsh), after\n" +
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

// The scripts hand the words before the cursor to ledgerctl __complete.
var completionScripts = map[string]string{
	// Inside quotes bash gives the word with its opening quote, and takes the
	// reply without it.
	"bash": `# bash completion of ledgerctl
_ledgerctl() {
	local words=() word line candidate i
	for ((i = 1; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		case $word in
		\'*\' | \"*\") word=${word:1:${#word}-2} ;;
		\'* | \"*) word=${word:1} ;;
		esac
		words+=("$word")
	done
	COMPREPLY=()
	while IFS= read -r line; do
		candidate=${line%%$'\t'*}
		if [[ $candidate == :files ]]; then
			compopt -o filenames 2>/dev/null
			while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$word")
			return
		fi
		[[ $candidate == *[\ =] ]] && compopt -o nospace 2>/dev/null
		# bash takes words apart at each =, outside of quotes.
		[[ ${COMP_WORDS[COMP_CWORD]} == = || ${COMP_WORDS[COMP_CWORD - 1]} == = ]] && candidate=${candidate#*=}
		COMPREPLY+=("$candidate")
	done < <("${COMP_WORDS[0]}" __complete -- "${words[@]}" 2>/dev/null)
	if ((COMP_TYPE == 63)); then # only listed: without the words that stand there already
		for i in "${!COMPREPLY[@]}"; do
			candidate=${COMPREPLY[i]% }
			COMPREPLY[i]=${candidate##* }
		done
		return
	fi
	# Of a single reply the quotes would be closed: one that goes on gets a companion.
	[[ ${#COMPREPLY[@]} == 1 && ( ${COMPREPLY[0]} == *\  || ${COMPREPLY[0]} == *\ *= ) ]] && COMPREPLY+=("${COMPREPLY[0]}:")
	# Outside of quotes a space in a word has to be quoted.
	if [[ ${COMP_WORDS[COMP_CWORD]} != [\'\"]* ]]; then
		for i in "${!COMPREPLY[@]}"; do
			[[ ${COMPREPLY[i]} == *\ * ]] && COMPREPLY[i]="'${COMPREPLY[i]}"
		done
	fi
}
complete -F _ledgerctl ledgerctl
`,
	"zsh": `#compdef ledgerctl
# zsh completion of ledgerctl
_ledgerctl() {
	local -a going ended
	local line word meaning
	local -a typed=("${(@Q)words[2,CURRENT]}")
	typed[-1]=${typed[-1]#[\'\"]} # of quotes that are still open
	while IFS= read -r line; do
		word=${line%%$'\t'*} meaning=${line#*$'\t'}
		if [[ $word == :files ]]; then
			_files
			return
		fi
		if [[ $word == *[\ =] ]]; then going+=("${word//:/\\:}:$meaning"); else ended+=("${word//:/\\:}:$meaning"); fi
	done < <("${words[1]}" __complete -- "${typed[@]}" 2>/dev/null)
	(( ${#going} )) && _describe -t words 'word' going -S ''
	(( ${#ended} )) && _describe -t words 'word' ended
}
compdef _ledgerctl ledgerctl
`,
	"fish": `# fish completion of ledgerctl
function __ledgerctl_complete
	set -l words (commandline -opc) (commandline -ct | string trim -l -c "'\"")
	set -e words[1]
	set -l lines (ledgerctl __complete -- $words 2>/dev/null)
	# Of a single candidate the quotes would be closed: one that goes on is given as its continuations.
	if test (count $lines) = 1; and string match -qr '^[^\t]* \t' -- $lines
		set words[-1] (string split -m1 \t -- $lines)[1]
		set -l more (ledgerctl __complete -- $words 2>/dev/null)
		test (count $more) -gt 0; and set lines $more
	end
	for line in $lines
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
