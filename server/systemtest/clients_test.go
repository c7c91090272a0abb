package systemtest

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A brokenWire is a TCP proxy that cuts each connection after a random number
// of bytes, wherever that is in a message.
type brokenWire struct {
	url string // base URL of the proxy
	cut atomic.Int64
}

// breakWire starts a proxy to the daemon at url. It runs until the test ends.
// It forwards at most `most` bytes of a connection, counting both directions.
func breakWire(t *testing.T, url string, most int64, seed uint64) *brokenWire {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &brokenWire{url: "http://" + ln.Addr().String()}
	var all sync.WaitGroup
	t.Cleanup(func() { ln.Close(); all.Wait() })
	random := rand.New(rand.NewPCG(seed, 0))
	all.Go(func() {
		for n := 0; ; n++ {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			smaller := random.IntN(6)
			if n < 8 { // so that some connections are cut in any case
				smaller = max(smaller, 3)
			}
			limit := random.Int64N(most >> smaller)
			all.Go(func() { w.pass(near.(*net.TCPConn), strings.TrimPrefix(url, "http://"), limit) })
		}
	})
	return w
}

// pass copies in both directions until limit bytes have passed or one end
// closes.
func (w *brokenWire) pass(near *net.TCPConn, to string, limit int64) {
	defer near.Close()
	conn, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	far := conn.(*net.TCPConn)
	defer far.Close()
	var left atomic.Int64
	left.Store(limit)
	var both sync.WaitGroup
	copyTo := func(dst, src *net.TCPConn) {
		buf := make([]byte, 1<<10)
		for {
			n, err := src.Read(buf)
			room := left.Add(-int64(n)) + int64(n)
			if room < int64(n) { // cut in the middle: a part still arrives
				dst.Write(buf[:max(room, 0)])
				w.cut.Add(1)
				near.Close()
				far.Close()
				return
			}
			if _, werr := dst.Write(buf[:n]); err != nil || werr != nil {
				dst.CloseWrite()
				return
			}
		}
	}
	both.Go(func() { copyTo(far, near) })
	copyTo(near, far)
	far.SetReadDeadline(time.Now())
	near.SetReadDeadline(time.Now())
	both.Wait()
}

// clientDrivers prepare the programs that drive the clients, by language.
// docs/clients has the clients that are single files, and ctl/client is the
// client for Go. Each function returns the command that runs a program in the
// folder, or an empty command if the program itself is executable. If a tool is
// missing, the function returns the tool's name.
var clientDrivers = map[string]func(t *testing.T, folder string) (command []string, missing string){
	"go": func(t *testing.T, folder string) ([]string, string) {
		for _, program := range []string{"testdata/clients/drive.go", "../../docs/clients/wallet.go"} {
			if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", folder+"/", program).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		return nil, ""
	},
	"python": func(t *testing.T, folder string) ([]string, string) {
		python, err := exec.LookPath("python3")
		if err != nil {
			return nil, "python3"
		}
		copyInto(t, folder, "../../docs/clients/ledger.py", "../../docs/clients/wallet.py", "testdata/clients/drive.py")
		return []string{python}, ""
	},
	"typescript": func(t *testing.T, folder string) ([]string, string) {
		compiler := os.Getenv("LEDGER_TEST_TSC") // folder with node_modules
		node, err := exec.LookPath("node")
		if err != nil || compiler == "" {
			return nil, "node, and LEDGER_TEST_TSC: a folder in which npm has installed typescript and @types/node"
		}
		compileTypeScript(t, compiler, folder)
		return []string{node}, ""
	},
}

// afterInstall matches the commands in docs/clients/README.md after npm install: the
// one before the compiler, the compiler, and the one that runs pay.js.
var afterInstall = regexp.MustCompile(`\n    npm install [^\n]*\n    ([^\n]*)\n    npx (tsc [^\n]*)\n    (node pay.js)\n`)

// compileTypeScript compiles the client, its sample and its driver, and the example in
// README.md, all with the command in docs/clients/README.md. Newer versions of Node run
// these files without the compiler: they remove the types, and reject all other
// TypeScript syntax. Additional flags make the compiler reject that syntax here too.
// The compiler takes longer than most tests, so it runs once.
func compileTypeScript(t *testing.T, compiler, folder string) {
	t.Helper()
	commands := afterInstall.FindStringSubmatch(text(t, "../../docs/clients/README.md"))
	example := codeBlocks("ts").FindStringSubmatch(text(t, "../../README.md"))
	if commands == nil || example == nil {
		t.Fatal("README.md has no example in ts, or docs/clients/README.md does not say how to compile it")
	}
	inDocs := filepath.Join(folder, "docs/clients") // from where the example imports it
	if err := os.MkdirAll(inDocs, 0o700); err != nil {
		t.Fatal(err)
	}
	copyInto(t, folder, "../../docs/clients/ledger.ts", "../../docs/clients/wallet.ts", "testdata/clients/drive.ts")
	copyInto(t, inDocs, "../../docs/clients/ledger.ts")
	if err := os.WriteFile(filepath.Join(folder, "pay.ts"), []byte(example[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	line := commands[1] + ` && "$0/.bin/"` + commands[2] + ` wallet.ts drive.ts --erasableSyntaxOnly --verbatimModuleSyntax --skipLibCheck --typeRoots "$0/@types"`
	tsc := exec.Command("sh", "-c", line, filepath.Join(compiler, "node_modules"))
	tsc.Dir = folder
	if out, err := tsc.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// madeClients holds the clients that tests have prepared so far, by language.
var madeClients = struct {
	sync.Mutex
	clients map[string]*preparedClient
}{clients: map[string]*preparedClient{}}

// A preparedClient is a client that is ready to run, for all tests.
type preparedClient struct {
	once            sync.Once
	folder, missing string
	command         []string
}

// prepareClient makes a client ready to run, once for all tests. It skips the test if
// a tool is missing.
func prepareClient(t *testing.T, language string) clientRun {
	t.Helper()
	madeClients.Lock()
	c := madeClients.clients[language]
	if c == nil {
		c = &preparedClient{missing: "a tool that another test found missing"}
		madeClients.clients[language] = c
	}
	madeClients.Unlock()
	c.once.Do(func() {
		var err error
		if c.folder, err = os.MkdirTemp("", "ledger-client-"); err != nil {
			t.Fatal(err)
		}
		c.command, c.missing = clientDrivers[language](t, c.folder)
	})
	if c.missing != "" {
		t.Skip("NOT TESTED: the client for " + language + "; needs " + c.missing)
	}
	return func(name string, args ...string) *exec.Cmd {
		words := slices.Concat(c.command, []string{filepath.Join(c.folder, name+script[language])}, args)
		return exec.Command(words[0], words[1:]...)
	}
}

// A clientRun makes the command that runs a driver or sample of a client.
type clientRun func(name string, args ...string) *exec.Cmd

// eachClient runs a test for the client of each language, all at the same time.
func eachClient(t *testing.T, test func(t *testing.T, language string, run clientRun)) {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT TESTED with -short: the clients")
	}
	together(t, slices.Sorted(maps.Keys(clientDrivers)), func(t *testing.T, language string) { test(t, language, prepareClient(t, language)) })
}

// removeClients removes what prepareClient made.
func removeClients() {
	for _, c := range madeClients.clients {
		os.RemoveAll(c.folder)
	}
}

// script is the extension of the files that each language runs.
var script = map[string]string{"python": ".py", "typescript": ".js"}

func copyInto(t *testing.T, folder string, files ...string) {
	t.Helper()
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, filepath.Base(name)), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestClients makes every client do the same work over connections that break
// at random places. Nothing may be lost, duplicated or answered differently.
func TestClients(t *testing.T) {
	t.Parallel()
	eachClient(t, func(t *testing.T, language string, run clientRun) {
		folder := t.TempDir()
		const n = 100
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		dir := t.TempDir()
		write := startWriteProcess(t, dir)
		read := startProcess(t, "ledger-read", "-dir", dir, "-name", "r")
		badWrite, badRead := breakWire(t, write.url, 256<<10, seed), breakWire(t, read.url, 32<<10, seed+1)
		nobody := "http://127.0.0.1:1"
		cmd := run("drive", nobody+","+badWrite.url, nobody+","+badRead.url, filepath.Join(folder, "cursor"), strconv.Itoa(n))
		var out, words bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &words
		late := time.AfterFunc(3*time.Minute, func() { cmd.Process.Kill() })
		defer late.Stop()
		if err := cmd.Run(); err != nil {
			t.Fatalf("the driver failed: %v\n%s", err, words.String())
		}
		t.Logf("%d and %d connections were cut", badWrite.cut.Load(), badRead.cut.Load())
		if badWrite.cut.Load() < 5 || badRead.cut.Load() < 5 {
			t.Fatalf("only %d and %d connections were cut, want at least 5 of each", badWrite.cut.Load(), badRead.cut.Load())
		}
		checkDriven(t, out.String(), read.url, n)
	})
}

// checkDriven compares what a driver reported with what the ledger holds.
func checkDriven(t *testing.T, told, read string, n int) {
	t.Helper()
	seqs, last := committedKeys(t, read)
	told = strings.TrimSpace(told)
	acked, refused, saw, stacks := map[string]bool{}, map[string]bool{}, 0, 0
	for line := range strings.SplitSeq(told, "\n") {
		word := strings.Fields(line)
		switch word[0] {
		case "ack":
			if acked[word[1]] = true; fmt.Sprint(seqs[word[1]]) != "["+word[2]+"]" {
				t.Errorf("%s was acknowledged as commit %s, but the ledger has it as %v", word[1], word[2], seqs[word[1]])
			}
		case "refused":
			if refused[word[1]] = true; word[2] != "InsufficientBalance" || word[3] != "1000000000" || seqs[word[1]] != nil {
				t.Errorf("%q, and the ledger has it as %v; want InsufficientBalance of 1000000000, and no commit", line, seqs[word[1]])
			}
		case "typed":
			if line != "typed ContainerNotFound 0" {
				t.Errorf("%q, want ContainerNotFound 0", line)
			}
		case "exact":
			if line != "exact 9223372036854775807" {
				t.Errorf("%q, want 9223372036854775807", line)
			}
		case "stack":
			if stacks++; word[1] != "0" && line != "stack 9223372036854775807 9223372036844775807" {
				t.Errorf("%q, want key 0, or key 9223372036854775807 with 9223372036844775807", line)
			}
		case "saw":
			seq, _ := strconv.Atoi(word[1])
			if seq != saw+1 && seq != saw { // the commit at which the feed broke off may be sent again
				t.Errorf("commit %d was seen after %d", seq, saw)
			}
			saw = seq
		default:
			t.Errorf("the driver printed %q", line)
		}
	}
	if len(acked)+len(refused) != 5*n || len(refused) != 5*n/20 || saw != last || stacks != 2 {
		t.Errorf("%d acknowledged, %d rejected, %d commits of %d and %d stacks seen; want %d in all, %d rejected, all commits and 2 stacks", len(acked), len(refused), saw, last, stacks, 5*n, 5*n/20)
	}
	for key := range seqs {
		if !acked[key] && key != "setup" && key != "exact" && !strings.HasPrefix(key, "open-") {
			t.Errorf("%s was committed, but not acknowledged", key)
		}
	}
}

// committedKeys returns the commits of each idempotency key, and the number of
// the last commit.
func committedKeys(t *testing.T, read string) (seqs map[string][]int, last int) {
	t.Helper()
	seqs = map[string][]int{}
	for {
		var page struct {
			Data struct {
				Commits []struct {
					GlobalSeq int `json:"global_seq"`
					Metadata  struct {
						Key string `json:"idempotency_key"`
					} `json:"metadata"`
				} `json:"commits"`
			} `json:"data"`
		}
		mustGet(t, read+"/v1/read/commits?after="+strconv.Itoa(last), &page)
		if len(page.Data.Commits) == 0 {
			return seqs, last
		}
		for _, c := range page.Data.Commits {
			seqs[c.Metadata.Key] = append(seqs[c.Metadata.Key], c.GlobalSeq)
			last = c.GlobalSeq
		}
	}
}
