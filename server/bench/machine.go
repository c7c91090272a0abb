package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
)

// describe describes the machine. Ratios can be compared across machines, but
// absolute numbers can't.
func describe(dir string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d cores, %s, %d GiB of memory, Linux %s, %s, log on %s",
		runtime.NumCPU(), field("/proc/cpuinfo", "model name"), kib(field("/proc/meminfo", "MemTotal"))>>20,
		firstLine("/proc/sys/kernel/osrelease"), runtime.Version(), filesystem(dir))
	return b.String()
}

// field returns the value of the first line "name : value" in a file of /proc.
func field(path, name string) string {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// kib returns the number in a value such as "123 kB".
func kib(value string) (n int64) {
	fmt.Sscan(value, &n)
	return n
}

func firstLine(path string) string {
	text, _ := os.ReadFile(path)
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// loadAverage returns the load average of the last minute.
func loadAverage() string {
	first, _, _ := strings.Cut(firstLine("/proc/loadavg"), " ")
	return first
}

// filesystem returns the type of the filesystem that holds dir, by the magic
// numbers in linux/magic.h.
func filesystem(dir string) string {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil {
		return "an unknown filesystem"
	}
	for magic, name := range map[uint32]string{0xef53: "ext4", 0x58465342: "xfs", 0x9123683e: "btrfs",
		0x01021994: "tmpfs (in memory: its syncs cost nothing)", 0x794c7630: "overlayfs"} {
		if uint32(st.Type) == magic {
			return name
		}
	}
	return fmt.Sprintf("filesystem %#x", uint32(st.Type))
}
