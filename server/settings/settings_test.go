package settings

import (
	"flag"
	"io"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	env := map[string]string{"LEDGER_SEGMENT_SIZE": "7", "LEDGER_DIR": "fromenv"}
	lookup := func(k string) (string, bool) { v, ok := env[k]; return v, ok }
	for _, c := range []struct {
		args        []string
		dir         string
		size        int
		errContains string
	}{
		{nil, "fromenv", 7, ""},
		{[]string{"-dir", "fromflag"}, "fromflag", 7, ""},
		{[]string{"-segment-size=9"}, "fromenv", 9, ""},
		{[]string{"-nonsense"}, "", 0, "nonsense"},
	} {
		f := flag.NewFlagSet("x", flag.ContinueOnError)
		f.SetOutput(io.Discard)
		dir, size := f.String("dir", "def", ""), f.Int("segment-size", 1, "")
		err := Parse(f, c.args, lookup)
		if c.errContains != "" {
			if err == nil || !strings.Contains(err.Error(), c.errContains) {
				t.Errorf("%v: got %v, want an error with %q", c.args, err, c.errContains)
			}
			continue
		}
		if err != nil || *dir != c.dir || *size != c.size {
			t.Errorf("%v: got dir %q, size %d, %v; want %q and %d", c.args, *dir, *size, err, c.dir, c.size)
		}
	}
	env["LEDGER_SEGMENT_SIZE"] = "many"
	f := flag.NewFlagSet("x", flag.ContinueOnError)
	f.Int("segment-size", 1, "")
	if err := Parse(f, nil, lookup); err == nil || !strings.Contains(err.Error(), "LEDGER_SEGMENT_SIZE") {
		t.Errorf("an invalid variable: got %v, want an error with LEDGER_SEGMENT_SIZE", err)
	}
}
