package systemtest

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// The tests named TestProve… run built programs for long, or need root and
// change mounts. They run only when the environment says how long: `make prove`
// says long, .ci/run says short.
const proveVariable = "LEDGER_PROVE"

// proof skips the test unless it was asked for, and picks between two lengths.
func proof[T any](t *testing.T, short, long T) T {
	t.Helper()
	switch os.Getenv(proveVariable) {
	case "short":
		return short
	case "long":
		return long
	}
	t.Skipf("needs %s=short or long, which .ci/run and make prove set: it takes long, or changes mounts", proveVariable)
	panic("not reached")
}

// insideVariable marks the process that onMachineOfItsOwn starts.
const insideVariable = "LEDGER_PROVE_INSIDE"

// onMachineOfItsOwn makes the test run once more in a process with mounts and
// process ids of its own, and is true there: whatever happens to that process,
// its daemons end, and what it mounted is unmounted and its loop devices freed.
// In the first process it is false, and the test is over.
func onMachineOfItsOwn(t *testing.T, programs ...string) bool {
	t.Helper()
	proof(t, 0, 0)
	if os.Getuid() != 0 {
		t.Skip("needs root: it mounts filesystems on loop devices")
	}
	for _, name := range append(programs, "mount", "umount", "mkfs.ext4") {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("needs the program %s: %v", name, err)
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
		Cloneflags: syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL,
	}
	out, err := cmd.CombinedOutput()
	text := string(out)
	switch {
	case cmd.ProcessState == nil:
		t.Skipf("needs the right to make namespaces for mounts and process ids: %v", err)
	case err != nil:
		t.Fatalf("%v\n%s", err, text)
	case strings.Contains(text, "--- SKIP"):
		t.Skipf("needs what the run in the namespaces says:\n%s", text)
	case !strings.Contains(text, "--- PASS: "+t.Name()):
		t.Fatalf("it did not run:\n%s", text)
	}
	t.Log(text)
	return false
}
