package auth

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetledger/ledger"
)

func line(name, token, rest string) string {
	return fmt.Sprintf("%s sha256:%x %s", name, HashToken(token), rest)
}

func TestParse(t *testing.T) {
	good := "# who\n\n" + line("a.b-c_9", "t1", "commit,read") + "\n  " + line("a.b-c_9", "t2", "admin") + "\r\n" +
		line("seven", "t3", "register,commit   owners=9,7,9") + "\n" + strings.Replace(line("cert", "der", "metrics"), "sha256:", "cert:", 1)
	table, err := Parse(good)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range table.Entries() {
		got = append(got, e.String())
		again, err := ParseEntry(e.String())
		if err != nil || !cmp.Equal(again, e) {
			t.Errorf("ParseEntry(%q): got %+v, %v; want %+v", e.String(), again, err, e)
		}
	}
	want := []string{line("a.b-c_9", "t1", "commit,read"), line("a.b-c_9", "t2", "admin"), line("seven", "t3", "commit,register owners=7,9"),
		strings.Replace(line("cert", "der", "metrics"), "sha256:", "cert:", 1)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries, -want +got:\n%s", diff)
	}
	for _, c := range []struct{ token, name string }{{"t1", "a.b-c_9"}, {"t2", "a.b-c_9"}, {"t3", "seven"}, {"t4", ""}, {"", ""}, {"der", ""}} {
		got := ""
		if p := table.Token(c.token); p != nil {
			got = p.Name
		}
		if got != c.name {
			t.Errorf("token %q is %q's, want %q", c.token, got, c.name)
		}
	}
	if p := table.Certificate([]byte("der")); p == nil || p.Name != "cert" || table.Certificate([]byte("t1")) != nil {
		t.Errorf("the client of the certificate is %+v, want cert, and none for a token", p)
	}
	if p := table.Token("t3"); !p.Limited() || p.Permit == nil || !p.Permit.Register || table.Token("t2").Permit != nil || table.Token("t1").Permit.Register {
		t.Errorf("the permits of t1 to t3 are %+v, %+v and %+v", table.Token("t1").Permit, table.Token("t2").Permit, p.Permit)
	}
}

// TestTransferScope checks that the scope transfer limits a client only if the client
// lacks the scope commit.
func TestTransferScope(t *testing.T) {
	for scopes, want := range map[string]*ledger.Permit{
		"transfer":                 {Transfer: true},
		"transfer,register":        {Transfer: true, Register: true},
		"commit,transfer":          {},
		"commit,transfer,register": nil,
		"transfer,admin":           nil,
	} {
		table, err := Parse(line("a", "t", scopes) + "\n")
		if err != nil {
			t.Fatal(err)
		}
		p := table.Token("t")
		if diff := cmp.Diff(want, p.Permit); diff != "" {
			t.Errorf("permit of scopes %s, -want +got:\n%s", scopes, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	ok := line("a", "t", "read")
	for _, c := range []struct{ text, words string }{
		{"a", "line 1"},
		{ok + "\n" + ok, "is on line 1"},
		{ok + "\n" + line("b", "t", "commit"), "line 2"},
		{line("a b", "t", "read"), "second word"},
		{line("ä", "t", "read"), "a name is"},
		{line("ledger", "t", "commit"), "for commits that the ledger makes itself"},
		{line(strings.Repeat("n", 65), "t", "read"), "a name is"},
		{strings.Replace(ok, "sha256:", "md5:", 1), "sha256:"},
		{strings.ToUpper(ok), "second word"},
		{"a sha256:00 read", "64"},
		{line("a", "t", "write"), `no scope "write"`},
		{line("a", "t", "read,"), `no scope ""`},
		{line("a", "t", "read,,commit"), `no scope ""`},
		{line("a", "t", ",read"), `no scope ""`},
		{line("a", "t", "Read"), `no scope "Read"`},
		{line("a", "t", "read owners"), "owners"},
		{line("a", "t", "read owners=,"), "an owner"},
		{line("a", "t", "read owners=7,"), "an owner"},
		{line("a", "t", "read owners= 7"), "an owner"},
		{line("a", "t", "read owners=+7"), "an owner"},
		{line("a", "t", "read owners=-7"), "an owner"},
		{line("a", "t", "read owners=7x"), "an owner"},
		{line("a", "t", "read owner=7 owners=8"), "owner=7"},
		{line("a", "t", ""), "a line has"},
		{line("a", "t", "read owner=7"), "owner=7"},
		{line("a", "t", "read owners="), "an owner"},
		{line("a", "t", "read owners=0"), "an owner"},
		{line("a", "t", "read owners=07"), "an owner"},
		{line("a", "t", "read owners=9223372036854775808"), "an owner"},
		{line("a", "t", "read owners=7 owners=8"), "unexpected"},
		{line("a", "t", "admin owners=7"), "admin"},
		{line("a", "t", "read owners="+strings.TrimSuffix(strings.Repeat("1,", 3), ",")+manyOwners()), "more than the 64"},
	} {
		if _, err := Parse(c.text); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%q: got %v, want an error with %q", c.text, err, c.words)
		}
	}
	var b strings.Builder
	for i := range MaxEntries + 1 {
		b.WriteString(line("n", fmt.Sprint(i), "read") + "\n")
	}
	if _, err := Parse(b.String()); err == nil {
		t.Errorf("%d credentials are accepted", MaxEntries+1)
	}
}

// TestCutShort checks that a file that was cut anywhere except after a line is
// neither loaded nor edited. An empty file can be edited, but not loaded.
func TestCutShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "auth")
	text := "# who\n" + line("a", "t1", "admin") + "\n" + line("seven", "t2", "commit,read owners=7,9") + "\n"
	for n := range len(text) + 1 {
		if err := os.WriteFile(path, []byte(text[:n]), 0o600); err != nil {
			t.Fatal(err)
		}
		good := n > 0 && text[n-1] == '\n'
		if _, err := Load(path); (err == nil) != good {
			t.Errorf("cut after %d bytes, %q: Load returned %v, want success: %v", n, text[max(n-20, 0):n], err, good)
		}
		err := Edit(path, func(lines []string) ([]string, error) { return lines, nil })
		if (err == nil) != (good || n == 0) {
			t.Errorf("cut after %d bytes: Edit returned %v, want success: %v", n, err, good || n == 0)
		}
	}
}

func manyOwners() string {
	text := ""
	for i := range 65 {
		text += fmt.Sprintf(",%d", i+2)
	}
	return text
}

func FuzzParse(f *testing.F) {
	f.Add(line("a", "t", "read owners=7"))
	f.Add("# x\n\n" + line("b", "u", "admin"))
	f.Fuzz(func(t *testing.T, text string) {
		table, err := Parse(text)
		if err != nil {
			return
		}
		again := ""
		for _, e := range table.Entries() {
			again += e.String() + "\n"
		}
		second, err := Parse(again)
		if err != nil || !cmp.Equal(second.Entries(), table.Entries()) {
			t.Errorf("the entries of %q differ after a round trip through %q: %v", text, again, err)
		}
	})
}

func TestEdit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "auth")
	entry := func(name, token string) Entry { return Entry{Name: name, Hash: HashToken(token), Scopes: Read} }
	if err := Add(path, entry("a", "1"), false, nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("the new file is %v, %v; want mode 0600", info, err)
	}
	if err := Add(path, entry("a", "2"), false, nil); !errors.Is(err, ErrTaken) {
		t.Errorf("adding a name twice: got %v, want ErrTaken", err)
	}
	if err := Add(path, entry("a", "1"), true, nil); err == nil {
		t.Error("adding a credential twice succeeded")
	}
	if err := Add(path, Entry{Name: "x", Hash: HashToken("9"), Scopes: Admin, Owners: []int64{1}}, false, nil); err == nil {
		t.Error("adding an admin that is limited to owners succeeded")
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := Edit(path, func(lines []string) ([]string, error) { return append([]string{"# kept"}, lines...), nil }); err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"2", "3"} {
		if err := Add(path, entry("a", token), true, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := Add(path, entry("b", "4"), false, nil); err != nil {
		t.Fatal(err)
	}
	hash := fmt.Sprintf("%x", HashToken("2"))
	if out, err := Revoke(path, "a", hash[:8]); err != nil || len(out) != 1 || out[0].Hash != HashToken("2") {
		t.Errorf("revoking one token: got %v, %v; want the entry of token 2", out, err)
	}
	if _, err := Revoke(path, "b", hash[:8]); !errors.Is(err, ErrNobody) {
		t.Errorf("revoking with another client's hash: got %v, want ErrNobody", err)
	}
	if out, err := Revoke(path, "a", ""); err != nil || len(out) != 2 {
		t.Errorf("revoking all tokens of a: got %v, %v; want two entries", out, err)
	}
	text, err := os.ReadFile(path)
	b := entry("b", "4")
	if want := "# kept\n" + b.String() + "\n"; err != nil || string(text) != want {
		t.Errorf("the file is %[2]q (%[1]v), want %[3]q", err, text, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
		t.Errorf("the mode is now %v, want 0640 (%v)", info.Mode(), err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("the directory has %v, want only the file", left)
	}
}

// TestEditsAtOnce checks that concurrent edits lose nothing, and that a reader never sees
// half of one.
func TestEditsAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "auth")
	if err := Add(path, Entry{Name: "first", Hash: HashToken("first"), Scopes: Read}, false, nil); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	const n = 20
	for i := range n {
		wait.Go(func() {
			if err := Add(path, Entry{Name: fmt.Sprint("n", i), Hash: HashToken(fmt.Sprint(i)), Scopes: Commit}, false, nil); err != nil {
				t.Error(err)
			}
			if table, err := Load(path); err != nil || table.Token("first") == nil {
				t.Errorf("Load during other edits: %v, want a table with first", err)
			}
		})
	}
	wait.Wait()
	if table, err := Load(path); err != nil || len(table.Entries()) != n+1 {
		t.Errorf("after all edits: got %v, %v; want %d entries", table, err, n+1)
	}
}

func TestNewToken(t *testing.T) {
	a, b := NewToken(), NewToken()
	if a == b || len(a) != 47 || !strings.HasPrefix(a, TokenPrefix) {
		t.Errorf("got tokens %q and %q, want two different ones of 47 characters", a, b)
	}
}

func BenchmarkToken(b *testing.B) {
	for _, n := range []int{10, MaxEntries} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			text := ""
			for i := range n {
				text += line("n", fmt.Sprint(i), "read") + "\n"
			}
			table, err := Parse(text)
			if err != nil {
				b.Fatal(err)
			}
			token := NewToken()
			b.ReportAllocs()
			for b.Loop() {
				if table.Token(token) != nil {
					b.Fatal("an unknown token was found")
				}
			}
		})
	}
}

// TestEditWhatPathLeadsTo checks that Edit changes the file that a symbolic link points
// to. It changes nothing if the file has a second hard link, or if the token can't be
// handed out.
func TestEditWhatPathLeadsTo(t *testing.T) {
	dir := t.TempDir()
	path, link, hard := filepath.Join(dir, "real"), filepath.Join(dir, "link"), filepath.Join(dir, "hard")
	entry := func(name string) Entry { return Entry{Name: name, Hash: HashToken(name), Scopes: Read} }
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} { // the first creates the file
		if err := Add(link, entry(name), false, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Revoke(link, "a", ""); err != nil {
		t.Fatal(err)
	}
	table, err := Load(path)
	if info, e := os.Lstat(link); err != nil || e != nil || info.Mode()&os.ModeSymlink == 0 || len(table.Entries()) != 1 || table.Entries()[0].Name != "b" {
		t.Fatalf("the file has %v, %v, and the link is %v; want only b, behind the same link", table, err, info)
	}
	before, _ := os.ReadFile(path)
	lost := errors.New("no space left")
	if err := Add(path, entry("c"), false, func() error { return lost }); !errors.Is(err, lost) {
		t.Errorf("got %v, want %v", err, lost)
	}
	if err := os.Link(path, hard); err != nil {
		t.Fatal(err)
	}
	if _, err := Revoke(link, "b", ""); err == nil || !strings.Contains(err.Error(), "2 names") {
		t.Error(err)
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Errorf("the file was changed from %q to %q", before, after)
	}
}
