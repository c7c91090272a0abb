package wal

import "runtime/debug"

// touch runs f, which reads or writes mapped memory, and is false if that
// faults: the disk failed, or somebody cut the file. Without it a fault ends
// the process with a trace. All maps are touched through it: those of segments,
// of END and of DIR/readers, under which a directory may be restored at any moment.
func touch(f func()) (ok bool) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if e := recover(); e != nil {
			if _, fault := e.(interface{ Addr() uintptr }); !fault {
				panic(e)
			}
			ok = false
		}
	}()
	f()
	return true
}

// load gives a word of a shared page, 0 if it can't be read.
func load(page []byte, at int) (v uint64, ok bool) {
	ok = touch(func() { v = word64(page, at).Load() })
	return v, ok
}
