# Shell functions that start and stop the two daemons. Source this file. It ends only
# processes that it has started.

pids=()

# start NAME OUT ARGS…: starts the program NAME in the folder $BIN (default: bin), with
# its log lines in OUT.log, and waits for its ready line. Sets pid and url.
start() {
	local name=$1 out=$2
	shift 2
	: >"$out.out"
	"${BIN:-bin}/$name" "$@" >"$out.out" 2>>"$out.log" &
	pid=$!
	pids+=("$pid")
	for _ in $(seq 200); do
		url=$(grep -o 'http://[^ ]*' "$out.out" || true)
		if [ -n "$url" ]; then return 0; fi
		if ! kill -0 "$pid" 2>/dev/null; then break; fi
		sleep 0.05
	done
	echo "$name did not become ready:" >&2
	cat "$out.log" >&2
	return 1
}

# stop PID: asks the process to stop, and waits for its exit code.
stop() {
	kill -TERM "$1"
	wait "$1"
}

# stop_all: stops the processes that start has started, if they are still running; for an EXIT trap.
stop_all() {
	local p
	for p in "${pids[@]}"; do kill -TERM "$p" 2>/dev/null || true; done
	for p in "${pids[@]}"; do wait "$p" 2>/dev/null || true; done
}
