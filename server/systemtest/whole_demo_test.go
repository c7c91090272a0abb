package systemtest

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestDemo runs the demonstration. It must succeed, and its output must be only
// its own. It kills a daemon in the middle, and shells like to report that.
func TestDemo(t *testing.T) {
	cmd := exec.Command("../../.ci/demo")
	cmd.Env = append(cmd.Environ(), "BIN="+buildPrograms(t), "DEMO_DATA="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "demo: all was as expected") {
		t.Fatalf("%v\n%s", err, out)
	}
	if alien := regexp.MustCompile(`Killed|Terminated|line \d+:`).Find(out); alien != nil {
		t.Errorf("it says %q:\n%s", alien, out)
	}
}
