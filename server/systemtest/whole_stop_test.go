package systemtest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestStopDuringCostlyBatch stops the write daemon while it processes a batch
// whose transactions each move many stacks and then fail. They must not delay the
// stop: transactions that are not judged in time are rejected, and their errors say
// so.
func TestStopDuringCostlyBatch(t *testing.T) {
	w := startProcess(t, "ledger-write", "-dir", t.TempDir(), "-shutdown-timeout", "4s")
	mustCommit(t, w.url, goodContainers)
	const stacks = 54_000
	for at := 1; at < stacks; at += 9000 {
		var list []string
		for key := at; key < at+9000; key++ {
			list = append(list, fmt.Sprintf(`{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":%d,"quantity":1}}`, key))
		}
		mustCommit(t, w.url, `{"operations":[`+strings.Join(list, ",")+`]}`)
	}
	costly := `{"operations":[{"op":"ConsolidateStacks","args":{"container_id":1,"class_id":1}},{"op":"Detach","args":{"instance_id":1}}]}`
	answered := make(chan answer, 1)
	go func() {
		a, err := post(http.DefaultClient, w.url+"/v1/commit/batch", `{"transactions":[`+strings.Repeat(costly+",", 9999)+costly+`]}`)
		if err != nil {
			t.Error(err)
		}
		answered <- a
	}()
	awaits(t, "the batch is in the daemon", func() bool {
		a, err := get(http.DefaultClient, w.url+"/v1/metrics")
		return err == nil && strings.Contains(a.body, "\nasset_ledger_write_ingress_inflight 1\n")
	})
	for range 3 { // served between the transactions of the batch
		mustCommit(t, w.url, goodCommit)
	}
	select {
	case <-answered:
		t.Fatal("the batch has already ended, so this tests nothing")
	default:
	}
	w.stop(t)
	if a := <-answered; a.status != 200 || !strings.Contains(a.body, "InstanceNotFound") || !strings.Contains(a.body, "ShuttingDown") {
		t.Errorf("the response to the batch is %d %.300s, want 200 with InstanceNotFound and ShuttingDown", a.status, a.body)
	}
}
