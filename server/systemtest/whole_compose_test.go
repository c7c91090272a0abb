package systemtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCompose reads docs/ops/compose as Docker would. It checks the settings of
// the commands, and the files that are mounted. If docker is installed, docker
// checks compose.yaml too.
func TestCompose(t *testing.T) {
	t.Parallel()
	const folder = "../../docs/ops/compose"
	yq := tool(t, "yq", "yq")
	out, err := exec.Command(yq, ".", filepath.Join(folder, "compose.yaml")).Output()
	if err != nil {
		t.Fatal(err)
	}
	var compose struct {
		Services map[string]struct {
			Image               string
			Command, Entrypoint []string
			Volumes, Ports      []string
		}
		Volumes map[string]any
	}
	if err := json.Unmarshal(out, &compose); err != nil {
		t.Fatal(err)
	}
	for name, s := range compose.Services {
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s: port %s is open to other machines", name, p)
			}
		}
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			_, volume := compose.Volumes[from]
			if _, err := os.Stat(filepath.Join(folder, from)); err != nil && !volume {
				t.Errorf("%s mounts %s: %v", name, from, err)
			}
		}
		if s.Image != "asset-ledger" || len(s.Command) == 0 {
			continue
		}
		args := slices.Concat(s.Command[1:], []string{"-dir", t.TempDir(), "-print-config"})
		if code, said, words := runProgram(t, strings.TrimPrefix(s.Command[0], "/"), args...); code != 0 || !strings.Contains(said, "auth-file") {
			t.Errorf("%s: %q: exit code %d, want 0 and the settings: %s%s", name, s.Command, code, said, words)
		}
	}
	if promtool, err := exec.LookPath("promtool"); err == nil {
		home := t.TempDir()
		copyInto(t, home, folder+"/prometheus.yml", folder+"/../alerts.yml")
		if out, err := exec.Command(promtool, "check", "config", "--syntax-only", filepath.Join(home, "prometheus.yml")).CombinedOutput(); err != nil {
			t.Errorf("promtool: %v\n%s", err, out)
		}
	}
	if len(compose.Services) < 4 {
		t.Errorf("compose.yaml has only %d services, want at least 4", len(compose.Services))
	}
	if docker, err := exec.LookPath("docker"); err == nil && exec.Command(docker, "compose", "version").Run() == nil {
		if out, err := exec.Command(docker, "compose", "-f", filepath.Join(folder, "compose.yaml"), "config", "-q").CombinedOutput(); err != nil {
			t.Errorf("docker compose config: %v\n%s", err, out)
		}
	}
}

// checkArchives checks the contents of the archives of make dist, and that the bill of
// materials in each one lists its programs.
func checkArchives(t *testing.T, folder string) {
	t.Helper()
	check := exec.Command("sha256sum", "-c", "SHA256SUMS")
	check.Dir = folder
	if out, err := check.CombinedOutput(); err != nil || strings.Count(string(out), ": OK") != 4 {
		t.Errorf("sha256sum: %v, want 4 correct sums\n%s", err, out)
	}
	for _, c := range []struct{ kind, programs string }{
		{"linux-amd64", "ledger-read ledger-write ledgerctl"}, {"linux-arm64", "ledger-read ledger-write ledgerctl"},
		{"darwin-amd64", "ledgerctl"}, {"darwin-arm64", "ledgerctl"},
	} {
		root := t.TempDir()
		name := "asset-ledger-v1.2.3-test-" + c.kind
		if out, err := exec.Command("tar", "-xzf", filepath.Join(folder, name+".tar.gz"), "-C", root).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", c.kind, err, out)
			continue
		}
		var bill struct {
			Format     string `json:"bomFormat"`
			Components []struct{ Type, Name string }
		}
		if err := json.Unmarshal([]byte(text(t, filepath.Join(root, name, "bom.json"))), &bill); err != nil || bill.Format != "CycloneDX" {
			t.Errorf("%s: bom.json is not CycloneDX: %v %+v", c.kind, err, bill)
		}
		var programs []string
		for _, one := range bill.Components {
			if one.Type == "file" {
				programs = append(programs, one.Name)
			} else if one.Name != "std" {
				t.Errorf("%s: the programs contain %s, which is not the standard library", c.kind, one.Name)
			}
		}
		if got := strings.Join(programs, " "); got != c.programs {
			t.Errorf("%s has %q, want %q", c.kind, got, c.programs)
		}
		for _, p := range programs {
			if out, err := exec.Command("go", "version", "-m", filepath.Join(root, name, p)).CombinedOutput(); err != nil || !strings.Contains(string(out), "assetledger") {
				t.Errorf("%s: %s: %v\n%s", c.kind, p, err, out)
			}
		}
	}
}
