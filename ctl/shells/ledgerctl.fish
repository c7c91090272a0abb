# fish completion of ledgerctl
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
