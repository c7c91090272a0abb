package systemtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assetledger/server/servertest/longtest"
)

const (
	indexContainers = 50
	indexBatch      = 5_000
	indexBatches    = 12
)

// small returns a batch of n transfers of quantity 1 between the containers.
func small(rnd *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		from := rnd.IntN(indexContainers)
		fmt.Fprintf(&b, `,{"operations":[{"op":"TransferFungible","args":{"from_container":%d,"to_container":%d,"class_id":1,"key":0,"quantity":1}}]}`,
			1+from, 1+(from+1+rnd.IntN(indexContainers-1))%indexContainers)
	}
	return `{"transactions":[` + b.String()[1:] + `]}`
}

// TestKilledWhileTheIndexIsMade kills a read daemon with SIGKILL while it builds
// the history index in the background, at random commits and while it writes a
// file. Each daemon starts from nothing, or from what the previous one has left,
// while commits continue. The next daemon must respond like a daemon that was never
// killed and has its own directory.
func TestKilledWhileTheIndexIsMade(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	base := t.TempDir()
	dir, made := filepath.Join(base, "a"), filepath.Join(base, "a", "history")
	w := startProcess(t, "ledger-write", "-dir", dir)
	steady := startProcess(t, "ledger-read", "-dir", filepath.Join(base, "b"), "-from", w.url, "-name", "steady")
	last := 0
	commit := func(path, body string, n int) {
		if a, err := post(http.DefaultClient, w.url+path, body); err != nil || a.status != 200 {
			t.Fatalf("%s: %v %+v, want 200", path, err, a)
		}
		last += n
	}
	setup := `{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"Gold"}}}`
	for c := 1; c <= indexContainers; c++ {
		setup += fmt.Sprintf(`,{"op":"CreateContainer","args":{"container_id":%d,"kind":"Standard"}},{"op":"AddFungible","args":{"container_id":%d,"class_id":1,"key":0,"quantity":1000000}}`, c, c)
	}
	commit("/v1/commit", `{"operations":[`+setup+`]}`, 1)
	for range indexBatches {
		commit("/v1/commit/batch", small(rnd, indexBatch), indexBatch)
	}
	start := func() *process { return startProcess(t, "ledger-read", "-dir", dir, "-checkpoint-every", "3000") }
	r := start()
	awaitSeq(t, r.url, last)
	r.stop(t) // it writes a checkpoint, so that the next daemon serves while it builds the index
	rounds := 16
	if !longtest.Form(t, "more than 6 kills of a read daemon that builds the index") {
		rounds = 6
	}
	midway, writing := 0, 0
	for round := range rounds {
		left := "from nothing"
		if round%3 != 2 {
			if err := os.RemoveAll(made); err != nil {
				t.Fatal(err)
			}
		} else {
			left = "from what was left"
		}
		r := start()
		commit("/v1/commit/batch", small(rnd, 1000), 1000)
		at := rnd.IntN(last)
		if round%4 == 3 {
			at = last // so that the daemon is writing a file when it is killed
		}
		seq, tmp := killWhileMaking(t, r, made, at)
		if seq >= 0 {
			midway++
		}
		if tmp {
			writing++
		}
		r = start()
		awaitSeq(t, r.url, last)
		awaitSeq(t, steady.url, last)
		compareSamples(t, rnd, r.url, steady.url, last, fmt.Sprintf("round %d, %s, killed at commit %d of %d", round, left, seq, last))
		r.stop(t)
	}
	t.Logf("%d of %d kills came while the index was being built, %d of them while a file was being written", midway, rounds, writing)
	if midway == 0 {
		t.Error("no kill came while the index was being built")
	}
	steady.stop(t)
	w.stop(t)
}

// killWhileMaking kills a read daemon once it has built the index up to a
// commit, has begun a file, or has completed the index. It returns the last commit
// in the index, or -1 if it was complete, and whether there was an unfinished
// file.
func killWhileMaking(t *testing.T, r *process, folder string, at int) (seq int, writing bool) {
	t.Helper()
	awaits(t, "the index is built", func() bool {
		_, err := os.Stat(filepath.Join(folder, "next.tmp"))
		var health struct {
			History *struct {
				Made int `json:"made_seq"`
			}
		}
		a, failed := get(http.DefaultClient, r.url+"/v1/health")
		if failed != nil || json.Unmarshal([]byte(a.body), &health) != nil {
			t.Fatal(failed, a)
		}
		if seq = -1; health.History != nil {
			seq = health.History.Made
		}
		return seq < 0 || err == nil || seq >= at
	})
	r.kill()
	_, err := os.Stat(filepath.Join(folder, "next.tmp"))
	return seq, err == nil
}

// compareSamples compares the responses of two read daemons for random
// containers at random commits.
func compareSamples(t *testing.T, rnd *rand.Rand, url, truth string, last int, where string) {
	t.Helper()
	for range 12 {
		of := fmt.Sprintf("/v1/read/container/%d", 1+rnd.IntN(indexContainers))
		for _, path := range []string{
			fmt.Sprintf("%s/history?limit=500&to_seq=%d", of, 1+rnd.IntN(last)),
			fmt.Sprintf("%s/history?limit=500&order=oldest&from_seq=%d", of, 1+rnd.IntN(last)),
			fmt.Sprintf("%s/balances?at_seq=%d", of, 1+rnd.IntN(last)),
		} {
			var mine, want struct{ Data, Balances json.RawMessage }
			mustGetReady(t, url+path, &mine)
			mustGetReady(t, truth+path, &want)
			if string(mine.Data) != string(want.Data) || string(mine.Balances) != string(want.Balances) {
				t.Fatalf("%s: %s is\n%.2000s %s\nbut from a daemon that was never killed\n%.2000s %s", where, path, mine.Data, mine.Balances, want.Data, want.Balances)
			}
		}
	}
}
