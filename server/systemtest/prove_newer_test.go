package systemtest

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"assetledger/server/etcd/etcdtest"
)

// newerEtcd is the release of etcd that TestProveNewerEtcd builds.
const newerEtcd = "v3.6.16"

// TestProveNewerEtcd causes the faults of TestProveCluster with an etcd that is newer
// than the machine's and built from its module. If LEDGER_ETCD is set, all tests use
// the etcd that it names, and this one is skipped.
func TestProveNewerEtcd(t *testing.T) {
	rounds := proof(t, 0, 1)
	if named := os.Getenv(etcdtest.Variable); named != "" {
		t.Skipf("not needed: with %s=%s, all tests use that etcd", etcdtest.Variable, named)
	}
	if rounds == 0 {
		t.Skipf("needs LEDGER_PROVE=long: it builds etcd %s, which takes minutes. A NEWER ETCD THAN THE MACHINE'S IS NOT TESTED HERE", newerEtcd)
	}
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	r := newClusterRig(t, seed, clusterPlan{program: buildEtcd(t)})
	r.prove(rounds, r.faults(rng))
}

// buildEtcd builds etcd in a separate module, and returns the path of the
// program.
func buildEtcd(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module etcd\n",
		"main.go": "package main\n\nimport (\n\t\"os\"\n\n\t\"go.etcd.io/etcd/server/v3/etcdmain\"\n)\n\nfunc main() { etcdmain.Main(os.Args) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	program := filepath.Join(dir, "etcd-newer")
	for _, args := range [][]string{
		{"get", "go.etcd.io/etcd/server/v3@" + newerEtcd},
		{"mod", "tidy"},
		{"build", "-o", program, "."},
	} {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("needs the module proxy, and time to build etcd %s. A NEWER ETCD IS NOT TESTED: go %v: %v\n%.2000s", newerEtcd, args, err, out)
		}
	}
	return program
}
