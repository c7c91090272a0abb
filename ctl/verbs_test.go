package ctl

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestVerbs runs every verb with and without -dry-run. Both must send the same body, key
// and metadata, but -dry-run must send them to the preflight path. Amounts have decimals unless -minor is
// given. Only verbs with an amount have -minor.
func TestVerbs(t *testing.T) {
	f := newFakeDaemons(t)
	f.add(t, "GET /v1/read/class/EUR 200", []string{`{"data":{"class_id":1,"code":"EUR","decimals":2}}`})
	f.add(t, "GET /v1/read/hold/17 200", []string{`{"data":{"hold_id":17,"class_id":1}}`})
	f.add(t, "GET /v1/read/class/1 200", []string{`{"data":{"class_id":1,"code":"EUR","decimals":2}}`})
	for _, path := range []string{"/v1/commit", "/v1/commit/17/reverse"} {
		f.add(t, "POST "+path+" 200", []string{`{"global_seq":18,"batch_seq":1,"minted_instances":[],"metadata":{}}`})
	}
	for _, path := range []string{"/v1/commit/preflight", "/v1/commit/17/reverse/preflight"} {
		f.add(t, "POST "+path+" 200", []string{`{"valid":true,"at_seq":17,"minted_instances":[]}`})
	}
	// sent runs a command, and returns what follows the path in its only POST.
	sent := func(path string, words ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		words = append(words, "-key", "k", "-metadata", `{"why":"a test"}`)
		code := Main(append(slices.Clone(words), "-write-url", f.write.URL, "-read-url", f.read.URL), strings.NewReader(""), &out, &errs, noEnv)
		posts := slices.DeleteFunc(f.takeAsked(), func(asked string) bool { return !strings.HasPrefix(asked, "POST ") })
		if code != exitDone || len(posts) != 1 || !strings.HasPrefix(posts[0], "POST "+path+" key=k {") || !strings.HasSuffix(posts[0], `"metadata":{"why":"a test"}}`) {
			t.Errorf("%q: exit code %d, sent %q, want one to %s: %s", words, code, posts, path, errs.String())
			return ""
		}
		return strings.TrimPrefix(posts[0], "POST "+path)
	}
	untested := []string{"reverse"}
	for i := range verbs {
		untested = append(untested, verbs[i].word)
	}
	for _, x := range []struct {
		words  string
		amount string // in smallest units; "": there is none
	}{
		{"create wallet/7 -owner 7", ""}, {"add wallet/7 100.00 EUR", "10000"}, {"remove wallet/7 1.5 EUR", "150"}, {"transfer wallet/7 shop 25.50 EUR", "2550"},
		{"hold 17 wallet/7 25.50 EUR", "2550"}, {"settle 17 shop 20", "2000"}, {"release 17", ""}, {"mint sword -in bag/7 -slot 3", ""},
		{"place 17 bag/7 -slot 3", ""}, {"take bag/7 -slot 3", ""}, {"move bag/7 3 5", ""}, {"attach 18 17", ""}, {"detach 18", ""}, {"burn 17", ""}, {"reverse 17", ""},
		{"split shelf/1 1.5 EUR 0 3", "150"}, {"merge shelf/1 EUR 3 0", ""}, {"rename wallet/7 users/7", ""}, {"delete wallet/7", ""},
	} {
		words := strings.Fields(x.words)
		untested = slices.DeleteFunc(untested, func(verb string) bool { return verb == words[0] })
		path, preflight := "/v1/commit", "/v1/commit/preflight"
		if words[0] == "reverse" {
			path = "/v1/commit/17/reverse"
			preflight = path + "/preflight"
		}
		done := sent(path, words...)
		if said := sent(preflight, append(slices.Clone(words), "-dry-run")...); said != done {
			t.Errorf("%s sends %s, and with -dry-run %s", x.words, done, said)
		}
		cmd, _, _ := resolve(commands, words)
		minor := cmd.flagSet().Lookup("minor")
		if (minor != nil) != (x.amount != "") {
			t.Errorf("%s has an amount of %q, and -minor is %v", words[0], x.amount, minor)
		}
		if minor == nil {
			continue
		}
		words[strings.Count(cmd.Args[:strings.Index(cmd.Args, "AMOUNT")], " ")+1] = x.amount
		if small := sent(path, append(words, "-minor")...); small != done || !strings.Contains(done, `"quantity":`+x.amount+`}`) {
			t.Errorf("%s sends %s, and in smallest units %s", x.words, done, small)
		}
	}
	if len(untested) > 0 {
		t.Errorf("not tested: %q", untested)
	}
}
