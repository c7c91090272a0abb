package systemtest

import (
	"os/exec"
	"testing"

	"assetledger/server/servertest/longtest"
)

// TestMemoryUnderAttack lets all kinds of hostile clients attack at once. Neither
// daemon may use more memory than SECURITY.md states, and no request of a
// well-behaved client may be rejected.
func TestMemoryUnderAttack(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped with -short: it runs hostile clients of all kinds at once for some time")
	}
	seconds := "10s"
	if !longtest.Form(t, "hostile clients for longer than half a second") {
		seconds = "500ms"
	}
	out, err := exec.Command("go", "run", "assetledger/server/hostile", "-programs", buildPrograms(t), "-together", "-for", seconds).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("the hostile clients: %v", err)
	}
}
