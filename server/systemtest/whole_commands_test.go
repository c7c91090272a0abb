package systemtest

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Documents contain commands in three forms: in console blocks, which TestWalks and
// TestOpsGuide run from top to bottom; in indented blocks and blocks without a
// language; and in code spans within a sentence. The commands of the last two
// forms are in told, each with the method that runs or checks it.
//
// Commands that no test runs as they are written are in notRun instead.
var told = []struct {
	way      func(*sandbox, string)
	commands []string
}{
	{(*sandbox).byStranger, []string{"make help", "make demo", "make build", "make run", "man -M bin/man ledgerctl"}},
	{(*sandbox).ends, []string{
		"ledgerctl -h", "ledgerctl help", "ledgerctl help connecting", "ledgerctl backup DIR OUT", "ledgerctl health", "ledgerctl read commits", "ledgerctl export",
		"curl -s http://127.0.0.1:8080/v1/openapi.json", "curl -s http://127.0.0.1:8081/v1/openapi.json",
		"ledgerctl token new shop -scopes commit,read -owners 7,9 -auth-file /etc/ledger/auth -to shop.token",
		"ledgerctl token list -auth-file /etc/ledger/auth", "ledgerctl token revoke shop -auth-file /etc/ledger/auth",
		"ledgerctl token new billing -cert-file billing.crt -scopes read -auth-file /etc/ledger/auth", "openssl x509 -in billing.crt -outform der | sha256sum",
		"source <(ledgerctl completion bash)", "fuser DIR/END",
	}},
	{(*sandbox).serves, []string{
		"ledgerctl dev", "bin/ledger-read -dir ledger-data", "ledger-write -dir DIR", "ledger-read -dir DIR -name NAME", "ledger-read -dir DIR -until-time 2026-01-31T23:59:59Z",
	}},
	{(*sandbox).follows, []string{"ledgerctl watch -container 1001", "bin/ledgerctl watch -container 100"}},
	{(*sandbox).everyCommand, []string{"ledgerctl COMMAND -h"}},
	// Names of commands in a sentence: the commands and their flags must exist.
	{(*sandbox).exists, []string{
		"ledgerctl backup", "ledgerctl wal verify", "ledgerctl wal verify -dir", "ledgerctl wal archive", "ledgerctl wal repair -dir",
		"ledgerctl wal repair -accept-loss", "ledgerctl freshness", "ledgerctl bench", "ledgerctl log detach", "ledgerctl batch", "ledgerctl transfer", "ledgerctl release", "bin/ledgerctl commit -key …", "bin/ledgerctl preflight", "curl --retry",
	}},
	// A test can't easily run tests, but the tests and their flags must exist.
	{(*sandbox).testExists, []string{
		"go test ./cmd/... -run Docs -update", "go test ./server/systemtest -run TestPage", "go test ./server/systemtest -run TestPage -screenshots ../../docs/page",
		"go test ./server/systemtest -run TestOpenAPI", "go test ./wal -run TestRulesTotal", "go test ./wal/memfs", "go test ./wal -run Copy",
		`go test ./wal -run 'Every(Bit\|Trunc\|Subset)\|WhileRecovering' -exhaustive -timeout 30m`, "go test ./wal -run ErrorAtEveryStep",
		"go test ./server/sim -run 'TestSimulation$' -seeds 20000", "go test ./server/sim -run 'TestCluster$' -cluster-seeds 20000", "go test ./server/sim -run 'TestSimulation$' -seeds 1 -seed N",
		"go test ./server/systemtest",
	}},
}

// notRun are the commands that no test runs as they are written, with the
// reason.
var notRun = map[string]string{
	"make check":    "takes twenty minutes; .ci/run runs it",
	"make test":     "runs this test",
	"make long":     "runs this test, too",
	"go test ./...": "runs this test",
	"go vet":        "is part of make test, like this test",
	"make cluster":  "needs etcd",
	"ledgerctl log push -dir DIR -to etcd://…/ledger": "needs etcd",
	"ledgerctl log detach -dir DIR -accept-loss":      "needs a directory of a log in etcd",
	"ledgerctl wal stat -dir DIR":                     "docs/ops.md has it with ledger-data, and that is run",
	"make bench":                                      "takes ten minutes and other servers; .ci/run runs the quick form",
	"make bench BENCH='-only singles -rounds 3'":      "as make bench",
	"make microbench":                                 "takes minutes, and only measures",
	"make prove":                                      "takes 40 minutes; .ci/run runs the short form of the same tests",
	"make deb":                                        "TestReproducible runs it, which .ci/run requests",
	"make image":                                      "needs docker; TestReproducible builds and starts what the image holds",
	"systemctl enable --now ledger-write ledger-read": "needs root and a running systemd; TestUnits and TestServiceManager check what it starts",
	"systemctl enable --now ledger-write.socket":      "needs root and a running systemd; TestServiceManager hands a socket over",
	"systemctl edit ledger-write":                     "needs root, a running systemd and an editor",
	"systemctl status":                                "needs a running systemd; TestServiceManager checks the messages to it",
	"systemctl reload":                                "needs root and a running systemd; it sends SIGHUP; TestAuthFileIsReadAgain does so",
	"systemd-analyze security":                        "TestUnits runs it",
	"apt install ./bin/asset-ledger_amd64.deb":        "needs root, and changes the machine; TestReproducible unpacks the package and runs what is in it",
	"docker compose build":                            "needs docker; TestCompose checks the file",
	"docker compose run --rm token service -scopes commit,register,read -auth-file /data/auth -to /data/service.token": "needs docker; token new is run elsewhere",
	"docker compose run --rm token prometheus -scopes metrics -auth-file /data/auth -to /data/prometheus.token":        "needs docker; token new is run elsewhere",
	"docker compose up -d":       "needs docker",
	"make dist":                  "TestReproducible runs it, which .ci/run requests",
	"docker stop -t 15":          "needs docker",
	"chmod 600":                  "is the mode of a file, not a whole command; TestAuthFileIsReadAgain sets it",
	"ledger-write -expire=false": "TestHoldsExpireThroughKills starts a daemon with it",
	"curl -s --data-binary @FILE -H 'Content-Type: application/x-ndjson' http://127.0.0.1:8080/v1/commit/stream": "FILE stands for any file",
	"curl -sN -T . -H 'Content-Type: application/x-ndjson' -X POST …/v1/commit/stream":                           "waits for what is typed",
	"etcd --quota-backend-bytes 8589934592 --snapshot-count 1000 …":                                              "needs three machines",
	"ledger-write -driver etcd://…": "needs etcd",
	"ledger-write -dir /var/lib/ledger/log -driver etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379/ledger -advertise http://10.0.0.1:8080 -listen 10.0.0.1:8080 …": "needs etcd and another machine",
	"ledger-read -from URL[,URL…]": "URL stands for any source; the tests of server/mirror follow one",
	"ledger-read -from":            "needs a URL; as above",
	"ledger-read -dir /var/lib/ledger/log -from http://ledger-1:8080,http://ledger-2:8081 -name shop-eu": "needs other hosts; as above",
	"bin/ledger-read -dir ledger-data -write-url http://127.0.0.1:8080":                                  "TestPageOfDaemonsInTrouble starts a daemon with it",
	"ledgerctl token new mirrors -scopes log":                                                            "other forms of token new are run",
	"ledgerctl dev -seed wallet|warehouse|inventory":                                                     "TestDevSeeds runs each",
	"ledgerctl dev example -seed warehouse":                                                              "as above",
	"ledgerctl hold 17 wallet/7 20 EUR; ledgerctl settle 17 shop":                                        "needs the wallets of the README's first minute; TestStrangersTrial holds and settles there",
	"make cross":              "takes minutes; .ci/run runs it",
	"go run ./server/hostile": "takes minutes; TestMemoryUnderAttack runs the same attacks",
	"go run ./server/hostile -together -defaults": "takes a minute and a gigabyte; TestMemoryUnderAttack runs the same attacks",
	"make vuln": "queries a database on the network; .ci/run runs it",
	"ledgerctl wal archive -dir DIR -to DIR2":                                                 "needs a log of several segments and checkpoints; TestCheckpointsStandForTheLog runs it on one",
	"ledgerctl token new shop -scopes commit,read -auth-file /etc/ledger/auth -to shop.token": "docs/security.md has it with owners, and that is run",
	"chown ledger: /etc/ledger/auth /etc/ledger/tls.key":                                      "needs root and the user of the package",
}

// printed matches lines of indented blocks, and of blocks without a language, that
// are not commands of the ledger: output of programs, contents of files, the repair
// of etcd, and the compilation of TypeScript, which TestStrangersTrial runs.
var printed = regexp.MustCompile(`^((write|read|page) +http:|log +ledger-data|ledger-read ready on |ledger-write: -queue |(shop|grafana|billing|root) +(sha256|cert):|etcdctl |npm |npx tsc |node pay|echo '.*package.json$)`)

var (
	commandWords = `make|go|curl|etcd|man|source|fuser|kill|chmod|chown|openssl|apt|docker|systemctl|systemd-analyze|(?:bin/)?ledger(?:ctl|-read|-write)`
	commandLine  = regexp.MustCompile(`^(?:` + commandWords + `) \S`)
	commandSpan  = regexp.MustCompile("`((?:" + commandWords + ") [^`]+)`")
	anyFence     = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
)

// commandsTold returns the commands of a document outside of console blocks.
func commandsTold(t *testing.T, file, doc string) (commands []string) {
	t.Helper()
	take := func(line string) {
		line, _, _ = strings.Cut(line, "  #")
		if line = strings.TrimSpace(line); line == "" || printed.MatchString(line) {
			return
		}
		if commandLine.MatchString(line) {
			commands = append(commands, line)
		} else {
			t.Errorf("%s: is %q a command? If so, add it to commandWords, else to printed", file, line)
		}
	}
	doc = anyFence.ReplaceAllStringFunc(doc, func(block string) string {
		m := anyFence.FindStringSubmatch(block)
		if !slices.Contains([]string{"console", "http", "json", "python", "ts"}, m[1]) {
			for line := range strings.Lines(m[2]) {
				take(line)
			}
		}
		return ""
	})
	for line := range strings.Lines(doc) {
		if rest, ok := strings.CutPrefix(line, "    "); ok {
			if file != "docs/format.md" { // its blocks are bytes
				take(rest)
			}
			continue
		}
		for _, m := range commandSpan.FindAllStringSubmatch(line, -1) {
			commands = append(commands, m[1])
		}
	}
	return commands
}

// TestEveryCommandIsRun runs the commands that documents name outside of console
// blocks, if they are in the list told. It fails for a command that is neither in told
// nor in notRun.
func TestEveryCommandIsRun(t *testing.T) {
	t.Parallel()
	ways, used := map[string]func(*sandbox, string){}, map[string]bool{}
	for _, group := range told {
		for _, command := range group.commands {
			ways[command] = group.way
		}
	}
	var found []string
	for _, file := range ours(t) {
		if !strings.HasSuffix(file, ".md") || strings.HasPrefix(file, "testdata/") {
			continue
		}
		for _, command := range commandsTold(t, file, text(t, filepath.Join("../..", file))) {
			if ways[command] == nil && notRun[command] == "" {
				t.Errorf("%s has the command %q, which is neither in told nor in notRun", file, command)
			}
			if !used[command] && ways[command] != nil {
				found = append(found, command)
			}
			used[command] = true
		}
	}
	for command := range notRun {
		if !used[command] {
			t.Errorf("notRun has %q, which no document names", command)
		}
	}
	for command := range ways {
		if !used[command] {
			t.Errorf("told has %q, which no document names", command)
		}
	}
	s := newSandbox(t)
	for _, command := range found {
		t.Run(command, func(t *testing.T) {
			s.t = t
			ways[command](s, command)
		})
	}
}

// A sandbox is a ledger with containers 100 and 1001, in which commands are
// run.
type sandbox struct {
	*docWalk
	t, outer *testing.T // the test of the current command; the test of all commands
	checkout string     // a fresh copy of the repository; "": there is none yet
}

func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	w := newDocWalk(t)
	for _, dir := range []string{"ledger", "DIR2"} {
		if err := os.Mkdir(filepath.Join(w.home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	newAuthority(t).issue(t, "billing", time.Now().Add(time.Hour)).copyTo(t, filepath.Join(w.home, "billing.crt"))
	mustCommit(t, w.write.url, `{"operations":[{"op":"CreateContainer","args":{"container_id":100,"kind":"Standard"}},{"op":"CreateContainer","args":{"container_id":1001,"kind":"Standard"}},{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"Euro","fungible":true}}}]}`)
	w.toReal = strings.NewReplacer("http://127.0.0.1:8080", w.write.url, "http://127.0.0.1:8081", w.read.url,
		"/etc/ledger/", "ledger/", "DIR2", "DIR2", "DIR OUT", "ledger-data OUT-of-backup", "DIR", "ledger-data",
		"$(pidof ledger-write)", strconv.Itoa(w.write.cmd.Process.Pid), "$(pidof ledger-read)", strconv.Itoa(w.read.cmd.Process.Pid))
	return &sandbox{docWalk: w, t: t, outer: t}
}

// copyTo copies the certificate.
func (p pair) copyTo(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text(t, p.cert)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// shell returns the command, ready to be started.
func (s *sandbox) shell(command string) *exec.Cmd {
	s.t.Helper()
	name, _, _ := strings.Cut(command, " ")
	if name == "openssl" || name == "fuser" || name == "curl" {
		tool(s.t, name, map[string]string{"openssl": "openssl", "fuser": "psmisc", "curl": "curl"}[name])
	}
	cmd := exec.Command("bash", "-c", s.toReal.Replace(command))
	cmd.Dir, cmd.Env = s.home, s.env
	return cmd
}

// ends runs a command that exits by itself. Its exit code must be 0. It must print
// something, except for kill and for commands with a redirection or a process
// substitution. openssl must print the hash that is in the auth file.
func (s *sandbox) ends(command string) {
	out, err := s.shell(command).CombinedOutput()
	if err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
	switch quiet := strings.ContainsAny(command, ">(") || strings.HasPrefix(command, "kill"); {
	case strings.HasPrefix(command, "openssl"):
		line := s.command(s.t, "grep billing ledger/auth")
		if digits := strings.Fields(string(out))[0]; !strings.Contains(line, digits) {
			s.t.Errorf("openssl prints %s, but ledgerctl %s", digits, line)
		}
	case !quiet && len(out) == 0:
		s.t.Error("the command printed nothing")
	}
}

// serves runs a command until it has written something, and then interrupts it
// as Ctrl-C does.
func (s *sandbox) serves(command string) {
	cmd := s.shell("exec " + command)
	if !strings.Contains(command, " -name ") && (strings.Contains(command, "ledger-data") || strings.HasPrefix(command, "ledger-read")) {
		cmd = s.shell("exec " + command + " -name another") // the sandbox already has a daemon with the default name
	}
	cmd.Env = append(cmd.Env, "LEDGER_LISTEN=127.0.0.1:0", "LEDGER_WRITE_LISTEN=127.0.0.1:0", "LEDGER_READ_LISTEN=127.0.0.1:0")
	if strings.HasPrefix(command, "ledger-write") || strings.HasSuffix(command, " dev") { // with a log of its own
		cmd.Dir = s.t.TempDir()
	}
	line, rest, err := untilInterrupt(s.t, cmd, func(line string) bool { return line != "" })
	if err != nil {
		s.t.Errorf("after Ctrl-C: %v\n%s%s", err, line, rest)
	}
}

// follows runs a command that shows what happens to a container, while commits
// change that container. It returns once the command has shown a change.
func (s *sandbox) follows(command string) {
	const add = `{"op":"AddFungible","args":{"container_id":%s,"class_id":1,"key":0,"quantity":1}}`
	container := command[strings.LastIndex(command, " ")+1:]
	seen, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for again := time.NewTicker(50 * time.Millisecond); ; {
			if _, err := post(http.DefaultClient, s.write.url+"/v1/commit", `{"operations":[`+fmt.Sprintf(add, container)+`]}`); err != nil {
				s.t.Error(err)
			}
			select {
			case <-again.C:
			case <-seen:
				return
			}
		}
	}()
	line, rest, err := untilInterrupt(s.t, s.shell("exec "+command), func(line string) bool { return strings.Contains(line, ", now ") })
	close(seen)
	<-over
	if err != nil {
		s.t.Errorf("after Ctrl-C: %v\n%s%s", err, line, rest)
	}
}

// untilInterrupt starts a command. Once the awaited line is on the command's standard
// output, untilInterrupt interrupts all processes of the command, as Ctrl-C does, and
// waits for them to exit.
func untilInterrupt(t *testing.T, cmd *exec.Cmd, awaited func(line string) bool) (said, words string, err error) {
	t.Helper()
	var standardError strings.Builder
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = &standardError
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(2*time.Minute, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer late.Stop()
	lines := bufio.NewScanner(out)
	seen := false
	for lines.Scan() {
		said += lines.Text() + "\n"
		if !seen && awaited(lines.Text()) {
			seen = true
			syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
		}
	}
	err = cmd.Wait()
	if !seen {
		t.Fatalf("the command exited before it printed the expected line: %v\n%s%s", err, said, &standardError)
	}
	return said, standardError.String(), err
}
