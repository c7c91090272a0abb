package wal

import "runtime/debug"

// touch runs f, which reads or writes mapped memory. It returns false if the access
// faults because the disk failed or another program truncated the file. Without
// touch, a fault ends the process with a stack trace. All mapped memory is accessed
// through touch: segments, END and the files in DIR/readers. Any of them may be
// replaced when a directory is restored.
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

// load returns a word of a shared page. ok is false if it can't be read.
func load(page []byte, at int) (v uint64, ok bool) {
	ok = touch(func() { v = word64(page, at).Load() })
	return v, ok
}
