package systemtest

import (
	"bytes"
	"debug/elf"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// These tests check the repository itself.

// TestProgramsImportTheStandardLibraryOnly checks with go list that the programs
// import only packages of this module and of the standard library.
func TestProgramsImportTheStandardLibraryOnly(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./cmd/...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	for _, p := range packages {
		if !strings.HasPrefix(p, "assetledger/") {
			t.Errorf("a program imports %s, which is not in the standard library", p)
		}
	}
	if len(packages) < 6 {
		t.Errorf("go list found only %v, want at least 6 packages", packages)
	}
}

// TestDependenciesPointOneWay checks the imports. ledger and wal import neither
// each other nor what is built on them. The daemons don't import each other,
// and what they share imports neither of them: server → {writer, reader} →
// {httpserver, commitlog} → {ledger, wal}. docs/architecture.md has the full table.
func TestDependenciesPointOneWay(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		names := strings.Fields(line)
		imports[names[0]] = names[1:]
	}
	const server = "assetledger/server"
	above := []string{"assetledger/ctl", "assetledger/cmd", server + "/writer", server + "/reader", server + "/bench", server + "/servertest"}
	for pkg, banned := range map[string][]string{
		"./server":                   {"assetledger/ctl", "assetledger/cmd", server + "/bench", server + "/servertest"},
		"./server/writer":            {"assetledger/ctl", "assetledger/cmd", server + "/reader", server + "/page", server + "/settings", "=" + server},
		"./server/reader":            {"assetledger/ctl", "assetledger/cmd", server + "/writer", server + "/settings", "=" + server},
		"./server/httpserver":        append(above, server+"/commitlog", server+"/page", server+"/settings", "assetledger/wal", "="+server),
		"./server/commitlog":         append(above, server+"/httpserver", server+"/auth", server+"/metrics", "net", "="+server),
		"./server/etcd":              append(above, server+"/httpserver", server+"/commitlog", "assetledger/ledger", "assetledger/wal", "="+server),
		"./server/commitlog/etcdlog": append(above, server+"/httpserver", server+"/auth", server+"/metrics", "="+server),
		"./server/version":           append(above, server+"/httpserver", server+"/commitlog", "assetledger/ledger", "assetledger/wal", "="+server),
		"./ledger":                   {"assetledger/wal", "assetledger/server", "assetledger/ctl", "net", "os", "time", "math/rand"},
		"./ctl/client":               {"assetledger"},
		"./wal":                      {"assetledger/ledger", "assetledger/server", "assetledger/ctl"},
	} {
		list, ok := imports[strings.Replace(pkg, ".", "assetledger", 1)]
		if !ok {
			t.Errorf("there is no package %s", pkg)
		}
		for _, p := range list {
			for _, b := range banned {
				exact, only := strings.CutPrefix(b, "=")
				if p == exact || !only && strings.HasPrefix(p, b+"/") {
					t.Errorf("%s imports %s", pkg, p)
				}
			}
		}
	}
}

// TestArchitectureNamesWhatIsThere checks that every path in
// docs/architecture.md exists.
func TestArchitectureNamesWhatIsThere(t *testing.T) {
	found := regexp.MustCompile("`([a-z][\\w.*/-]*/[\\w.*/-]+)`").FindAllStringSubmatch(text(t, "../../docs/architecture.md"), -1)
	for _, m := range found {
		if paths, err := filepath.Glob(filepath.Join("../..", m[1])); err != nil || len(paths) == 0 {
			t.Errorf("docs/architecture.md names %s, which does not exist", m[1])
		}
	}
	if len(found) < 40 {
		t.Errorf("found only %d paths, want at least 40", len(found))
	}
}

// TestInvariantsInPackageComments checks that each package comment states the main
// invariant of the package in the words of docs/architecture.md.
func TestInvariantsInPackageComments(t *testing.T) {
	rows := regexp.MustCompile("(?m)^\\| `([\\w/]+)` \\| [^|]+ \\| ([^|]{5,}) \\|").FindAllStringSubmatch(text(t, "../../docs/architecture.md"), -1)
	for _, row := range rows {
		comment := ""
		paths, err := filepath.Glob(filepath.Join("../..", row[1], "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			comment += " " + file.Doc.Text()
		}
		if words := strings.Join(strings.Fields(comment), " "); !strings.Contains(words, "The main invariant: "+row[2]) {
			t.Errorf("the package comment of %s does not state the main invariant: %s", row[1], row[2])
		}
	}
	if len(rows) < 15 {
		t.Errorf("found only %d invariants, want at least 15", len(rows))
	}
}

// TestProgramsAreSmallAndStatic checks the size of the executables, and that they are
// statically linked.
func TestProgramsAreSmallAndStatic(t *testing.T) {
	const most = 12 << 20
	for _, name := range []string{"ledger-write", "ledger-read", "ledgerctl"} {
		path := filepath.Join(buildPrograms(t), name)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > most {
			t.Errorf("%s has %d bytes, more than %d", name, info.Size(), most)
		}
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if libraries, err := f.ImportedLibraries(); len(libraries) > 0 {
			t.Errorf("%s needs libraries: %v %v", name, libraries, err)
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				t.Errorf("%s needs a dynamic linker", name)
			}
		}
		f.Close()
	}
}

// TestGoModRequiresGoCmpAlone checks that go.mod requires only go-cmp, and replaces
// no module.
func TestGoModRequiresGoCmpAlone(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^(?:require )?\s*(\S+\.\S+/\S+) v\S+`).FindAllStringSubmatch(string(text), -1)
	if len(found) != 1 || found[0][1] != "github.com/google/go-cmp" {
		t.Errorf("go.mod requires %v, want only go-cmp", found)
	}
	if bytes.Contains(text, []byte("replace ")) {
		t.Error("go.mod replaces a module")
	}
}

// ours returns the files that belong to the repository: those that git tracks or
// does not ignore, or, in a copy without git, those that no build creates.
func ours(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard")
	cmd.Dir = "../.."
	if out, err := cmd.Output(); err == nil && len(out) > 0 {
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	var files []string
	made := map[string]bool{".git": true, "bin": true, "demo-data": true, "ledger-data": true, "bench-out": true}
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && made[entry.Name()] {
			return filepath.SkipDir
		}
		if !entry.IsDir() {
			files = append(files, strings.TrimPrefix(path, "../../"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestTopLevel checks that only certain files and folders are at the top level. Names
// that begin with a dot are exempt.
func TestTopLevel(t *testing.T) {
	allowed := map[string]bool{"cmd": true, "ledger": true, "wal": true, "server": true, "ctl": true, "testdata": true, "docs": true,
		"go.mod": true, "go.sum": true, "Makefile": true, "README.md": true, "CHANGELOG.md": true, "SECURITY.md": true, "Dockerfile": true}
	for _, file := range ours(t) {
		first, _, _ := strings.Cut(file, "/")
		if !allowed[first] && !strings.HasPrefix(first, ".") {
			t.Errorf("%s does not belong at the top level", first)
		}
	}
}

// TestFilesAreReadable limits the length of Go files other than tests. In all text
// files, it rejects paths that exist on only one machine, and marks of unfinished
// work.
func TestFilesAreReadable(t *testing.T) {
	t.Parallel()
	const most = 500 // lines
	machine := regexp.MustCompile(`(^|[\s"'=(])/(work|home|root|Users|tmp)/`)
	marks := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
	for _, file := range ours(t) {
		text, err := os.ReadFile(filepath.Join("../..", file))
		if os.IsNotExist(err) {
			continue // deleted, but still in git's index
		}
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(text, []byte("\n")); strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") && lines > most {
			t.Errorf("%s has %d lines, more than %d", file, lines, most)
		}
		if bytes.IndexByte(text, 0) >= 0 {
			continue // not text
		}
		if found := machine.Find(text); found != nil {
			t.Errorf("%s names a path of one machine: %s", file, found)
		}
		if found := marks.Find(text); found != nil {
			t.Errorf("%s has a %s", file, found)
		}
	}
}
