package wal

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"assetledger/server/servertest/longtest"
)

const killDirEnv = "WAL_KILL_TEST_DIR"

// TestMain can turn the test binary into a writer that appends until it is
// killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(killDirEnv); dir != "" {
		appendForever(dir)
	}
	os.Exit(longtest.Main(m))
}

func appendForever(dir string) {
	w, err := Open(dir, Options{SegmentSize: minSegment})
	for err == nil {
		if err = w.Append(testFrame(w.LastSeq()+1, 2, 900)); err == nil {
			fmt.Println(w.LastSeq())
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestKill repeatedly kills a writing process while a reader follows it.
// Everything that was acknowledged or visible must be there afterwards, and the
// same reader must be able to continue.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	var r *Reader
	var shown uint64
	for round := range 12 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killDirEnv+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		acked := uint64(0)
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			if acked, err = strconv.ParseUint(lines.Text(), 10, 64); err != nil {
				t.Fatal(err)
			}
			if r == nil {
				r = mustReader(t, dir, Options{})
			}
			if r.Wait(acked-1, time.Minute); r.Durable() < acked {
				t.Fatalf("commit %d was acknowledged, but END is %d", acked, r.Durable())
			}
			if last := readAll(t, r); last > 0 {
				shown = last
			}
			if n == round*7 { // acknowledgements still in the pipe count too
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
		if acked == 0 {
			t.Fatal("the writer acknowledged nothing")
		}
		w := mustOpen(t, dir, Options{SegmentSize: minSegment})
		if w.LastSeq() < acked || w.LastSeq() < shown {
			t.Fatalf("the log ends at commit %d, but %d was acknowledged and %d shown", w.LastSeq(), acked, shown)
		}
		fill(t, w, 1, 900)
		want := w.LastSeq()
		w.Close()
		if shown = readAll(t, r); shown != want {
			t.Fatalf("the reader shows commits up to %d, want %d", shown, want)
		}
		if v, err := Verify(dir, VerifyOptions{}); err != nil || v.LastSeq != want {
			t.Fatalf("Verify: got %+v, %v; want LastSeq %d", v, err, want)
		}
	}
}
