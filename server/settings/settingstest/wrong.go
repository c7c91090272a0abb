package settingstest

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assetledger/server/settings"
)

// Wrong runs the program with invalid values for each flag: a value that can't be
// valid, an empty one and a blank one, each on the command line and in the
// environment, and a valid one given twice on the command line. Each run must end
// with exit code 2, and a message with the flag's name and an example. own has an
// invalid value for each flag that takes a value and that only some daemons have.
// None of the runs may create anything.
func Wrong(t *testing.T, p *settings.Program, run func(args []string, stdout, stderr io.Writer) int, own map[string]string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "log")
	nowhere := filepath.Join(dir, "nowhere")
	base := map[string]string{"dir": dir, "listen": "127.0.0.1:0"}
	common := map[string]string{
		"auth-file": nowhere, "client-ca": nowhere, "tls-cert": nowhere, "tls-key": nowhere, "dir": " ", "listen": "127.0.0.1:99999",
		"socket-mode": "0999", "max-connections": "0", "log-format": "xml", "header-timeout": "5", "read-timeout": "-1s", "write-timeout": "long", "idle-timeout": "-2m", "shutdown-timeout": "-1ns",
	}
	for _, s := range p.Settings() {
		value, ok := own[s.Name]
		if !ok {
			value, ok = common[s.Name]
		}
		if s.Value == "" {
			value, ok = "perhaps", true
		}
		if !ok {
			t.Errorf("no invalid value of -%s is tested", s.Name)
			continue
		}
		var others []string
		for name, value := range base {
			if name != s.Name {
				others = append(others, "-"+name, value)
			}
		}
		check := func(args ...string) {
			t.Helper()
			var words bytes.Buffer
			if exit := run(append(args, others...), io.Discard, &words); exit != 2 || !strings.Contains(words.String(), "-"+s.Name) || !strings.Contains(words.String(), "for example -") {
				t.Errorf("%q for -%s: exit code %d, want 2; message %q, want the flag and an example", args, s.Name, exit, &words)
			}
		}
		given := "-" + s.Name + "="
		check(given+s.Example, given+s.Example)
		for _, value := range []string{value, "", " \t"} {
			check(given + value)
			t.Run(s.Env, func(t *testing.T) {
				t.Setenv(s.Env, value)
				check()
			})
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("an invalid setting created the directory of the log: %v", err)
	}
}
