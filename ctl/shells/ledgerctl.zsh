#compdef ledgerctl
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
