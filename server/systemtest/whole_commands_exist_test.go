package systemtest

import (
	"path/filepath"
	"regexp"
	"strings"
)

// everyCommand runs every command of ledgerctl with -h. Each help text must have at
// least two examples.
func (s *sandbox) everyCommand(string) {
	overview := s.command(s.t, "bin/ledgerctl help")
	n := 0
	for _, words := range regexp.MustCompile(`(?m)^  ([a-z]+(?: [a-z]+)*)`).FindAllStringSubmatch(overview, -1) {
		cmd := s.shell("bin/ledgerctl " + words[1] + " -h")
		out, err := cmd.CombinedOutput()
		if _, examples, ok := strings.Cut(string(out), "examples:\n"); err != nil || !ok || strings.Count(examples, "  ledgerctl ") < 2 {
			s.t.Errorf("%s -h: %v\n%s", words[1], err, out)
		}
		n++
	}
	if n < 20 {
		s.t.Errorf("found only %d commands in\n%s", n, overview)
	}
}

// exists checks that a command has help, and that the help lists the command's flags.
func (s *sandbox) exists(command string) {
	words, help := strings.Fields(command), ""
	if words[0] == "curl" {
		tool(s.t, "curl", "curl")
		help = s.command(s.t, "curl --help all")
	} else {
		var names []string
		for _, word := range words[1:] {
			if !strings.HasPrefix(word, "-") && word != "…" {
				names = append(names, word)
			}
		}
		help = s.command(s.t, "bin/ledgerctl "+strings.Join(names, " ")+" -h")
	}
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "-") && !regexp.MustCompile(`(^|\s)`+word+`\s`).MatchString(help) {
			s.t.Errorf("there is no %s in\n%s", word, help)
		}
	}
}

// testExists checks that the packages of a go test command have the tests and the
// flags that the command names.
func (s *sandbox) testExists(command string) {
	words := strings.Fields(strings.NewReplacer("'", "", `\|`, "|").Replace(command))
	var source strings.Builder
	pattern := "../../" + strings.TrimSuffix(words[2], "/...") + "/*_test.go"
	if strings.HasSuffix(words[2], "/...") {
		pattern = "../../" + strings.TrimSuffix(words[2], "/...") + "/*/*_test.go"
	}
	files, _ := filepath.Glob(pattern)
	for _, file := range files {
		source.WriteString(text(s.t, file))
	}
	names := regexp.MustCompile(`(?m)^func (Test\w+)`).FindAllStringSubmatch(source.String(), -1)
	wanted := regexp.MustCompile("")
	for i, word := range words {
		name, isFlag := strings.CutPrefix(word, "-")
		switch {
		case name == "run" && isFlag:
			wanted = regexp.MustCompile(words[i+1])
		case isFlag && name != "timeout" && !regexp.MustCompile(`flag\.\w+\("`+name+`"`).MatchString(source.String()):
			s.t.Errorf("%s has no flag %s", words[2], word)
		}
	}
	for _, name := range names {
		if wanted.MatchString(name[1]) {
			return
		}
	}
	s.t.Errorf("%s has no test of that name", words[2])
}
