package writer

import (
	"os"
	"runtime"
)

// TuneProcessors lets the write daemon run one goroutine more at a time than
// the machine has cores, unless GOMAXPROCS says otherwise: the one that is
// waiting for the disk is counted as running until Go's monitor looks, which
// may be 10 ms later, and a core would idle meanwhile.
func TuneProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
}
