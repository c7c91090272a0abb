package systemtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// checkout returns a fresh clone of the current commit, with its history.
func checkout(t *testing.T, name string) string {
	t.Helper()
	tool(t, "git", "git")
	if out, err := exec.Command("git", "-C", "../..", "rev-parse", "HEAD").CombinedOutput(); err != nil {
		t.Skipf("needs a git checkout, to build one commit in two folders: %s", out)
	}
	dir := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("git", "clone", "-q", "../..", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

func runMake(t *testing.T, dir, target string) {
	t.Helper()
	cmd := exec.Command("make", "-s", target, "VERSION=v1.2.3-test")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make %s: %v\n%s", target, err, out)
	}
}

// TestReproducible builds the programs, the archives and the package of one commit in
// two folders, and compares the results. It then checks the archives, the package and
// the image.
func TestReproducible(t *testing.T) {
	if os.Getenv("LEDGER_PACKAGE") == "" {
		t.Skip("needs LEDGER_PACKAGE=1, as .ci/run sets it: it builds everything twice")
	}
	tool(t, "dpkg-deb", "dpkg")
	tool(t, "make", "make")
	a, b := checkout(t, "a"), checkout(t, "another folder, with a longer name")
	for _, dir := range []string{a, b} {
		runMake(t, dir, "deb")
		runMake(t, dir, "dist")
	}
	if one, two := text(t, filepath.Join(a, "dist/SHA256SUMS")), text(t, filepath.Join(b, "dist/SHA256SUMS")); one != two {
		t.Errorf("the archives differ between two folders:\n%s%s", one, two)
	}
	checkArchives(t, filepath.Join(a, "dist"))
	for _, file := range []string{"ledger-write", "ledger-read", "ledgerctl", "asset-ledger_amd64.deb"} {
		one, two := []byte(text(t, filepath.Join(a, "bin", file))), []byte(text(t, filepath.Join(b, "bin", file)))
		if !bytes.Equal(one, two) {
			t.Errorf("bin/%s differs between two folders: %d and %d bytes", file, len(one), len(two))
		}
	}
	checkPackage(t, filepath.Join(a, "bin", "asset-ledger_amd64.deb"))
	checkInstalling(t, filepath.Join(a, "bin", "asset-ledger_amd64.deb"))
	checkImage(t, a)
}

// checkPackage unpacks the package, checks its contents, and runs the programs in
// it.
func checkPackage(t *testing.T, deb string) {
	t.Helper()
	out, err := exec.Command("dpkg-deb", "--contents", deb).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		`(?m)^-rwxr-xr-x root/root .* \./usr/bin/ledger-write$`, `(?m)^-rwxr-xr-x root/root .* \./usr/bin/ledger-read$`, `(?m)^-rwxr-xr-x root/root .* \./usr/bin/ledgerctl$`,
		`(?m)^-rw-r--r-- root/root .* \./lib/systemd/system/ledger-write\.service$`, `(?m) \./lib/systemd/system/ledger-read\.socket$`,
		`(?m) \./usr/share/man/man8/ledger-write\.8\.gz$`, `(?m) \./usr/share/man/man1/ledgerctl\.1\.gz$`, `(?m) \./etc/ledger/read\.conf$`, `(?m) \./usr/share/doc/asset-ledger/ops\.md$`,
	} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	root := t.TempDir()
	if out, err := exec.Command("dpkg-deb", "--extract", deb, root).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(filepath.Join(root, "usr/bin/ledger-write"), "-version").Output(); err != nil || !strings.HasPrefix(string(out), "ledger-write v1.2.3-test") {
		t.Errorf("ledger-write -version: %v %s, want v1.2.3-test", err, out)
	}
	fields, err := exec.Command("dpkg-deb", "--field", deb, "Package", "Version", "Architecture").CombinedOutput()
	if want := "Package: asset-ledger\nVersion: 1.2.3+test\nArchitecture: amd64\n"; err != nil || string(fields) != want {
		t.Errorf("the fields of the package are %v %s, want %s", err, fields, want)
	}
}

// checkImage creates a folder with the contents of the image that the Dockerfile
// describes. It runs the programs with that folder as their root, and as the user
// that the Dockerfile names.
func checkImage(t *testing.T, source string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Log("the image was not tested: needs root, to change the root folder")
		return
	}
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	const user = 65532
	dockerfile := text(t, filepath.Join(source, "Dockerfile"))
	for _, line := range []string{"FROM scratch", "COPY --from=build /out/ledger-write /out/ledger-read /out/ledgerctl /", "COPY --chown=65532:65532 --chmod=0700 docs/ops/empty /data",
		"ENV LEDGER_DIR=/data/log", "USER 65532:65532", `CMD ["/ledger-write"]`} {
		if !strings.Contains(dockerfile, "\n"+line+"\n") {
			t.Errorf("the Dockerfile has no line %s: change this test too", line)
		}
	}
	_, run, ok := strings.Cut(dockerfile, "\nRUN ")
	run, _, _ = strings.Cut(run, "\n")
	if !ok || !strings.Contains(run, " -o /out/ ") {
		t.Fatalf("the Dockerfile builds nothing into /out/: %q", run)
	}
	build := exec.Command("sh", "-c", strings.Replace(run, " -o /out/ ", " -o "+root+"/ ", 1))
	build.Dir, build.Env = source, append(os.Environ(), "VERSION=v1.2.3-test", "COMMIT=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", run, err, out)
	}
	if err := os.Mkdir(filepath.Join(root, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Join(root, "data"), user, user); err != nil {
		t.Fatal(err)
	}
	proc := filepath.Join(root, "proc") // every container runtime mounts it
	if err := os.Mkdir(proc, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("proc", proc, "proc", 0, ""); err != nil {
		t.Logf("the image was not tested: needs to mount /proc: %v", err)
		return
	}
	t.Cleanup(func() { syscall.Unmount(proc, syscall.MNT_DETACH) })
	inside := func(args ...string) *exec.Cmd {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env, cmd.Dir = []string{"LEDGER_DIR=/data/log"}, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}}
		return cmd
	}
	w := inside("/ledger-write", "-listen", "127.0.0.1:0")
	var words bytes.Buffer
	w.Stderr = &words
	out, err := w.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { w.Process.Kill() })
	defer late.Stop()
	line := make([]byte, 500)
	n, _ := out.Read(line)
	_, url, ok := strings.Cut(strings.TrimSpace(string(line[:n])), " ready on ")
	if !ok {
		w.Process.Kill()
		w.Wait()
		t.Fatalf("the write daemon in the image printed %q\n%s", line[:n], words.String())
	}
	mustCommit(t, url, goodContainers)
	if said, err := inside("/ledgerctl", "health", "-write-url", url, "-read-url", url).CombinedOutput(); len(said) == 0 {
		t.Errorf("ledgerctl in the image: %v %s", err, said)
	}
	w.Process.Signal(syscall.SIGTERM)
	if err := w.Wait(); err != nil {
		t.Errorf("the write daemon in the image did not exit with code 0: %v\n%s", err, words.String())
	}
	if said, err := inside("/ledgerctl", "wal", "verify", "-dir", "/data/log").CombinedOutput(); err != nil {
		t.Errorf("ledgerctl wal verify in the image: %v\n%s", err, said)
	}
}

// TestUnits checks that systemd accepts the units and rates their security
// well.
func TestUnits(t *testing.T) {
	t.Parallel()
	analyze := tool(t, "systemd-analyze", "systemd")
	for _, unit := range []string{"ledger-write", "ledger-read"} {
		path := "../../docs/ops/systemd/" + unit + ".service"
		out, err := exec.Command(analyze, "security", "--offline=true", "--threshold=15", path).CombinedOutput()
		if err != nil {
			t.Errorf("the exposure of %s is above 1.5: %v\n%s", unit, err, out)
		}
		// Nothing may be wrong except that the programs are not installed here.
		out, _ = exec.Command(analyze, "verify", "--man=no", path, strings.TrimSuffix(path, "service")+"socket").CombinedOutput()
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "ledger-") && !strings.Contains(line, "is not executable") {
				t.Errorf("systemd-analyze verify: %s", line)
			}
		}
	}
}
