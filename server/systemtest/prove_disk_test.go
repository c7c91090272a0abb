package systemtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe"
)

// A disk is an ext4 filesystem on a loop device. It is mounted in the namespaces of
// onMachineOfItsOwn. mount creates a loop device that is removed when the disk
// is unmounted.
type disk struct {
	t       *testing.T
	image   string // file behind the loop device
	at      string // mount point
	how     string // mount options
	mounted bool
}

// commitInterval makes ext4 commit its journal by itself only every 300 seconds. So a
// power cut finds as much unsynced data as possible.
const commitInterval = "commit=300"

// newDisk creates a filesystem in a file in folder, with the given size in bytes, and
// mounts it.
func newDisk(t *testing.T, folder string, size int64) *disk {
	t.Helper()
	return makeDisk(t, folder, size, "loop,"+commitInterval)
}

// newDiskWithoutJournal is like newDisk, but the filesystem has no journal to which a
// sync of a file could write.
func newDiskWithoutJournal(t *testing.T, folder string, size int64) *disk {
	t.Helper()
	return makeDisk(t, folder, size, "loop", "-O", "^has_journal")
}

func makeDisk(t *testing.T, folder string, size int64, how string, options ...string) *disk {
	t.Helper()
	d := &disk{t: t, image: filepath.Join(folder, "image"), at: t.TempDir(), how: how}
	f, err := os.Create(d.image)
	if err == nil {
		err = f.Truncate(size)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	run(t, "mkfs.ext4", append(append([]string{"-q", "-F", "-m", "0"}, options...), d.image)...)
	d.mount()
	t.Cleanup(func() {
		if d.mounted {
			syscall.Unmount(d.at, syscall.MNT_DETACH)
		}
	})
	return d
}

// run runs a system program, which must succeed.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

func (d *disk) mount() {
	d.t.Helper()
	run(d.t, "mount", "-o", d.how, d.image, d.at)
	d.mounted = true
}

// unmount unmounts the disk, which drops its page cache. No process may be using the
// disk.
func (d *disk) unmount() {
	d.t.Helper()
	run(d.t, "umount", d.at)
	d.mounted = false
}

// From the kernel's ext4.h: EXT4_IOC_SHUTDOWN, and EXT4_GOING_FLAGS_NOLOGFLUSH.
const (
	ioctlShutdown = 0x8004587d
	noLogFlush    = 2
)

// cut cuts the power. From then on nothing reaches the device, not even the
// journal, and every write and sync fails.
func (d *disk) cut() {
	d.t.Helper()
	f, err := os.Open(d.at)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	flags := uint32(noLogFlush)
	if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), ioctlShutdown, uintptr(unsafe.Pointer(&flags))); e != 0 {
		d.t.Skipf("needs a kernel whose ext4 has the shutdown ioctl: %v", e)
	}
}

// newTmpfs mounts an in-memory filesystem of the given size.
func newTmpfs(t *testing.T, size string) string {
	t.Helper()
	at := t.TempDir()
	if err := syscall.Mount("none", at, "tmpfs", 0, "size="+size); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(at, syscall.MNT_DETACH) })
	return at
}

// fill extends a file until the disk is full.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size >= 4096; { // in ever smaller pieces
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	f.Sync() // any error means that the disk is full
}
