package settingstest

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"assetledger/server/settings"
)

// Wrong runs the program with a value that can't be right for each flag, on
// the command line and in the environment: that is exit code 2, with the flag's
// name and an example. values has one for each flag that takes one; base is
// what the program needs besides.
func Wrong(t *testing.T, p *settings.Program, run func(args []string, stdout, stderr io.Writer) int, base []string, values map[string]string) {
	t.Helper()
	for _, s := range p.Settings() {
		value, ok := values[s.Name]
		if s.Value == "" {
			value, ok = "perhaps", true
		}
		if !ok {
			t.Errorf("no wrong value of -%s is tried", s.Name)
			continue
		}
		check := func(args []string) {
			t.Helper()
			var words bytes.Buffer
			if exit := run(args, io.Discard, &words); exit != 2 || !strings.Contains(words.String(), "-"+s.Name) || !strings.Contains(words.String(), "for example -") {
				t.Errorf("-%s %s: exit code %d, and these words: %s", s.Name, value, exit, &words)
			}
		}
		if check(append(base, "-"+s.Name+"="+value)); value == "" {
			continue // in the environment that is no setting
		}
		t.Run(s.Env, func(t *testing.T) {
			t.Setenv(s.Env, value)
			var without []string
			for i := 0; i < len(base); i += 2 {
				if base[i] != "-"+s.Name {
					without = append(without, base[i:i+2]...)
				}
			}
			check(without)
		})
	}
}
