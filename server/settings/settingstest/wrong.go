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

// Wrong runs the program with a value that can't be right for each flag, on
// the command line and in the environment: that is exit code 2, with the flag's
// name and an example. own has one for each flag that takes one and that not
// every daemon has. Nothing may be made by it.
func Wrong(t *testing.T, p *settings.Program, run func(args []string, stdout, stderr io.Writer) int, own map[string]string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "log")
	base, nowhere := []string{"-dir", dir, "-listen", "127.0.0.1:0"}, filepath.Join(dir, "nowhere")
	common := map[string]string{
		"auth-file": nowhere, "client-ca": nowhere, "tls-cert": nowhere, "tls-key": nowhere, "dir": "", "listen": "127.0.0.1:99999",
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
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("a wrong setting made the folder of the log: %v", err)
	}
}
