# bash completion of ledgerctl
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
		# bash splits words at each =.
		[[ $word == = || ${COMP_WORDS[COMP_CWORD - 1]} == = ]] && candidate=${candidate#*=}
		COMPREPLY+=("$candidate")
	done < <("${COMP_WORDS[0]}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _ledgerctl ledgerctl
