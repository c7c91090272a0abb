package server

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// TuneMemory configures the garbage collector for a daemon. It does not change
// what GOGC or GOMEMLIMIT sets. The ledger's memory has few pointers and changes
// little. So the heap may triple between two collections, which trades memory for
// speed. As the heap approaches three quarters of the memory of the machine or
// of the control group, collections become more frequent.
func TuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		if total := memoryTotal(); total > 0 {
			debug.SetMemoryLimit(total / 4 * 3)
		}
	}
}

// memoryTotal returns the lower of the control group's limit and the machine's
// memory, in bytes; 0 if neither is known.
func memoryTotal() int64 {
	total := int64(math.MaxInt64)
	if text, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil { // otherwise "max": no limit
			total = n
		}
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		total = min(total, memTotal(string(text)))
	}
	if total == math.MaxInt64 {
		return 0
	}
	return total
}

// memTotal returns the machine's memory in bytes, from a line such as
// "MemTotal:  8000000 kB" of /proc/meminfo. Without such a line, it returns
// math.MaxInt64.
func memTotal(meminfo string) int64 {
	for line := range strings.Lines(meminfo) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == "MemTotal:" {
			if kib, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				return kib << 10
			}
		}
	}
	return math.MaxInt64
}
