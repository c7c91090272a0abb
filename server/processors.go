package server

import (
	"os"
	"runtime"
)

// TuneProcessors sets GOMAXPROCS to one more than its default, unless the
// environment sets it. In each daemon, one goroutine waits in a system call most of
// the time: for the disk, or for the next commit. Go counts it as running until its
// monitor checks it, up to 10 ms later. With the default, a core would be idle in the
// meantime.
func TuneProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
}
