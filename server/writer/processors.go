package writer

import (
	"os"
	"runtime"
)

// TuneProcessors lets the write daemon run one goroutine more at a time than the
// machine has cores, unless GOMAXPROCS is set. The goroutine that waits for the
// disk counts as running until Go's monitor checks, up to 10 ms later, and
// meanwhile a core would be idle.
func TuneProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
}
