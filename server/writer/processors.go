package writer

import (
	"os"
	"runtime"
)

// TuneProcessors sets GOMAXPROCS to one more than its default, unless the
// environment sets it. The goroutine that waits for the disk counts as running
// until Go's monitor checks it, up to 10 ms later. With the default, a core would be
// idle in the meantime.
func TuneProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
}
