package ctl

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetledger/server/servertest/longtest"
)

// The scripts in testdata run ledgerctl, in processes of this test binary, and
// contain its expected output:
//
//	# a comment
//	file NAME … end                     writes a file to the current directory of the commands
//	env NAME=VALUE                      sets a variable for later commands
//	terminal COLUMNSxROWS               standard output of later commands is a terminal; 0x0: no longer
//	answer METHOD PATH STATUS … end     a response of the fake daemons: headers, then the body; the last one repeats
//	daemons                             starts real daemons on the directory data, instead of the fake ones
//	stop                                stops the real daemons
//	flip FILE OFFSET                    flips one bit of a file
//	$ ledgerctl words… [< FILE]         runs ledgerctl
//	<- METHOD PATH [key=KEY] BODY       a request that the fake daemons received
//	> line                              standard output
//	! line                              standard error
//	= N                                 the exit code, if it is not 0
var update = flag.Bool("update", false, "rewrite the expectations of the scripts in testdata")

const asProgram = "LEDGERCTL_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.LookupEnv))
	}
	if os.Getenv(asMany) != "" {
		os.Exit(runMany(os.Stdin, os.Stdout))
	}
	os.Exit(longtest.Main(m))
}

func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := newScript(t).run(string(source))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(string(source), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("%s (-want +got; -update rewrites it):\n%s", file, diff)
			}
		})
	}
}

// A script is one file of testdata that is being run.
type script struct {
	t        *testing.T
	dir      string
	env      []string
	fake     *fakeDaemons
	daemons  *realDaemons
	commands *commandProcess
	columns  int // width of the terminal; 0: no terminal
	rows     int
	writeURL string
	readURL  string
	out      strings.Builder
}

func newScript(t *testing.T) *script {
	s := &script{t: t, dir: t.TempDir(), fake: newFakeDaemons(t)}
	s.commands = startCommands(t, s.dir)
	s.writeURL, s.readURL = s.fake.write.URL, s.fake.read.URL
	return s
}

// run runs the source, and returns it with the actual output.
func (s *script) run(source string) string {
	lines := strings.Split(strings.TrimSuffix(source, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "<-", ">", "!", "=":
			continue // an expected line: the actual one is written instead
		case "file", "answer":
			end := i + 1
			for end < len(lines) && lines[end] != "end" {
				end++
			}
			if end == len(lines) {
				s.t.Fatalf("line %d: no end", i+1)
			}
			s.out.WriteString(strings.Join(lines[i:end+1], "\n") + "\n")
			if verb == "file" {
				s.file(rest, lines[i+1:end])
			} else {
				s.fake.add(s.t, rest, lines[i+1:end])
			}
			i = end
			continue
		case "env":
			s.env = append(s.env, rest)
		case "terminal":
			if _, err := fmt.Sscanf(rest, "%dx%d", &s.columns, &s.rows); err != nil {
				s.t.Fatalf("line %d: %v", i+1, err)
			}
		case "daemons":
			s.daemons = startDaemons(s.t, filepath.Join(s.dir, "data"))
			s.writeURL, s.readURL = s.daemons.writeURL, s.daemons.readURL
		case "stop":
			s.daemons.stop()
		case "flip":
			s.flip(rest)
		case "$":
			s.out.WriteString(line + "\n")
			s.command(rest)
			continue
		case "", "#":
		default:
			s.t.Fatalf("line %d: unknown directive %q", i+1, line)
		}
		s.out.WriteString(line + "\n")
	}
	return s.out.String()
}

func (s *script) file(name string, lines []string) {
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// command runs one line and writes its output.
func (s *script) command(line string) {
	words, stdin := s.words(line)
	if len(words) == 0 || words[0] != "ledgerctl" {
		s.t.Fatalf("not a command of ledgerctl: %q", line)
	}
	run := commandRun{words[1:], append([]string{"LEDGER_WRITE_URL=" + s.writeURL, "LEDGER_READ_URL=" + s.readURL}, s.env...), os.DevNull}
	if stdin != "" {
		run.Stdin = filepath.Join(s.dir, stdin)
	}
	s.daemons.catchUp(s.t)
	var result commandResult
	if s.columns > 0 {
		result = s.inOwnProcess(run)
	} else {
		result = s.commands.run(s.t, run)
	}
	for _, asked := range s.fake.takeAsked() {
		fmt.Fprintf(&s.out, "<- %s\n", asked)
	}
	s.prefixed("> ", string(result.Stdout))
	s.prefixed("! ", string(result.Stderr))
	if result.Code != 0 {
		fmt.Fprintf(&s.out, "= %d\n", result.Code)
	}
}

// Parts of the output that differ between runs: times, which can lack trailing zeros, the
// log's random id, and the CRCs that depend on it.
var (
	timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}Z`)
	clock     = regexp.MustCompile(`\b\d\d:\d\d:\d\d\.\d{3}Z`)
	logID     = regexp.MustCompile(`\b[0-9a-f]{32}\b`)
	crc       = regexp.MustCompile(`\b(CRC is|bytes give) [0-9a-f]{8}\b`)
)

// prefixed writes output line by line, with a prefix. It replaces the parts that differ
// between runs.
func (s *script) prefixed(prefix, output string) {
	if output == "" {
		return
	}
	output = strings.NewReplacer("\x1b", "^[", "\r", "^M").Replace(output)
	output = strings.NewReplacer(s.writeURL, "http://WRITE", s.readURL, "http://READ", s.dir, "DIR").Replace(output)
	output = timestamp.ReplaceAllString(output, "TIME")
	output = clock.ReplaceAllString(output, "CLOCK")
	output = logID.ReplaceAllString(output, "LOG-ID")
	output = crc.ReplaceAllString(output, "$1 CRC")
	missing := ""
	if !strings.HasSuffix(output, "\n") {
		missing = " (and no newline)"
	}
	for _, line := range strings.Split(strings.TrimSuffix(output, "\n"), "\n") {
		s.out.WriteString(strings.TrimRight(prefix+line, " ") + "\n")
	}
	if missing != "" {
		s.out.WriteString(prefix + missing + "\n")
	}
}

// words splits a line at spaces outside quotes. "< FILE" at its end is standard
// input.
func (s *script) words(line string) (words []string, stdin string) {
	var word strings.Builder
	begun, quote := false, rune(0)
	for _, r := range line + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, begun = r, true
		case quote == 0 && r == ' ':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if n := len(words); n > 2 && words[n-2] == "<" {
		return words[:n-2], words[n-1]
	}
	return words, ""
}
