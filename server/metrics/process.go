package metrics

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process registers asset_ledger_build_info and the usual metrics of a process:
// CPU, memory, file descriptors, start time, goroutines.
func Process(r *Registry, version, commit string) {
	start := float64(time.Now().UnixNano()) / 1e9
	r.GaugeFunc("asset_ledger_build_info", "Always 1; the labels identify the build.", func() float64 { return 1 },
		"version", version, "commit", commit, "goversion", runtime.Version())
	r.CounterFunc("process_cpu_seconds_total", "User and system CPU time spent, in seconds.", cpuSeconds)
	r.GaugeFunc("process_start_time_seconds", "Start time of the process, in seconds since the epoch.", func() float64 { return start })
	r.GaugeFunc("process_resident_memory_bytes", "Resident memory, in bytes.", func() float64 { return statm(1) })
	r.GaugeFunc("process_virtual_memory_bytes", "Virtual memory, in bytes.", func() float64 { return statm(0) })
	r.GaugeFunc("process_open_fds", "Number of open file descriptors.", openFiles)
	r.GaugeFunc("process_max_fds", "Maximum number of open file descriptors.", maxFiles)
	r.GaugeFunc("go_goroutines", "Number of goroutines.", func() float64 { return float64(runtime.NumGoroutine()) })
	r.GaugeFunc("go_gc_heap_bytes", "Heap in use, in bytes, including garbage that has not been collected yet.", func() float64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	})
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// statm returns a field of /proc/self/statm, converted from pages to bytes.
// It returns 0 on systems without that file.
func statm(field int) float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if field >= len(fields) {
		return 0
	}
	pages, _ := strconv.ParseFloat(fields[field], 64)
	return pages * float64(os.Getpagesize())
}

func openFiles() float64 {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return float64(len(entries))
}

func maxFiles() float64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return float64(l.Cur)
}

// Revision returns the commit that the program was built from, or "unknown".
func Revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return "unknown"
}
