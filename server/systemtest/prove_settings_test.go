package systemtest

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// The tests named TestProve… run built programs for a long time, or need root
// and change mounts. They run only if this variable says for how long: `make
// prove` sets it to long, and `make check`, which .ci/run runs, to short.
const proveVariable = "LEDGER_PROVE"

// proof skips the test unless it was requested. It returns the value for the requested
// form of the test, short or long.
func proof[T any](t *testing.T, short, long T) T {
	t.Helper()
	switch os.Getenv(proveVariable) {
	case "short":
		return short
	case "long":
		return long
	}
	t.Skipf("needs %s=short or long, which .ci/run and make prove set: it takes a long time, or changes mounts", proveVariable)
	panic("not reached")
}

// insideVariable marks the process that onMachineOfItsOwn starts.
const insideVariable = "LEDGER_PROVE_INSIDE"

// onMachineOfItsOwn runs the test once more in a process with its own mounts
// and process ids, and returns true there. Whatever happens to that process,
// its daemons are stopped, its mounts unmounted and its loop devices freed. In
// the first process it returns false after that run, and the test is over.
func onMachineOfItsOwn(t *testing.T, programs ...string) bool {
	t.Helper()
	return inNamespaces(t, 0, "needs root: it mounts filesystems on loop devices", append(programs, "mkfs.ext4")...)
}

// inNamespaces is like onMachineOfItsOwn, but with additional namespaces. The
// parameter why is the reason for skipping the test without root.
func inNamespaces(t *testing.T, more uintptr, why string, programs ...string) bool {
	t.Helper()
	proof(t, 0, 0)
	if os.Getuid() != 0 {
		t.Skip(why) // the test needs root
	}
	for _, name := range append(programs, "mount", "umount") {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s; the program %s is absent: %v", why, name, err)
		}
	}
	if os.Getenv(insideVariable) != "" {
		if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			t.Fatalf("mounting /proc for the new process ids: %v", err)
		}
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=20m")
	cmd.Env = append(os.Environ(), insideVariable+"=yes", builtPrograms+"="+buildPrograms(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | more, Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL,
	}
	out, err := cmd.CombinedOutput()
	text := string(out)
	switch {
	case cmd.ProcessState == nil:
		t.Skipf("needs the right to create namespaces for mounts and process ids: %v", err)
	case err != nil:
		t.Fatalf("%v\n%s", err, text)
	case strings.Contains(text, "--- SKIP"):
		t.Skipf("skipped in the namespaces:\n%s", text)
	case !strings.Contains(text, "--- PASS: "+t.Name()):
		t.Fatalf("the test did not run in the namespaces:\n%s", text)
	}
	t.Log(text)
	return false
}
