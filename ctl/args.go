package ctl

import (
	"flag"
	"fmt"
	"io"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpclient"
	"assetledger/server/settings"
)

type globals struct {
	writeURL, readURL string
	output            choice
	timeout           duration
	connecting
}

func (g *globals) declare(set *flag.FlagSet) {
	g.writeURL, g.readURL = "http://127.0.0.1:8080", "http://127.0.0.1:8081"
	set.Var(baseURL{&g.writeURL}, "write-url", "base `URL` of the write daemon: http://, https:// or unix:/path; several, separated by commas, are tried in turn")
	set.Var(baseURL{&g.readURL}, "read-url", "base `URL` of the read daemon: http://, https:// or unix:/path; several, separated by commas, are tried in turn")
	g.output = choice{value: "table", of: []string{"table", "json", "ndjson", "csv"}}
	set.Var(&g.output, "o", "output `FORMAT`: table, for people; json, the API's responses unchanged; ndjson, one entry of a list per line; or csv, the table of a list")
	g.timeout = duration{30 * time.Second}
	set.Var(&g.timeout, "timeout", "maximum `TIME` to wait for a response, including retries")
	set.StringVar(&g.trust.CA, "ca", "", "`FILE` with the root certificates for the daemons, in PEM, instead of this machine's")
	set.StringVar(&g.trust.Cert, "cert", "", "`FILE` with the client certificate, in PEM")
	set.StringVar(&g.trust.Key, "cert-key", "", "`FILE` with the private key of -cert, in PEM")
	set.StringVar(&g.tokenFile, "token-file", "", "`FILE` with the token to send; without it the token is taken from LEDGER_TOKEN")
}

// json reports whether the output is JSON, in either form.
func (g *globals) json() bool   { return g.output.value == "json" || g.ndjson() }
func (g *globals) ndjson() bool { return g.output.value == "ndjson" }
func (g *globals) csv() bool    { return g.output.value == "csv" }

// split separates the arguments into flags and words. The argument after a flag in
// takesValue is its value, and follows it in flags. After --, all arguments are words.
// help reports whether -h or -help was given.
func split(args []string, takesValue map[string]bool) (flags, words []string, help bool) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		name := strings.TrimPrefix(strings.TrimPrefix(a, "-"), "-")
		switch {
		case a == "--":
			return flags, append(words, args[i+1:]...), help
		case len(a) < 2 || a[0] != '-' || a[1] >= '0' && a[1] <= '9': // no flag begins with a digit
			words = append(words, a)
		case name == "h" || name == "help":
			help = true
		case takesValue[name] && i+1 < len(args):
			i++
			flags = append(flags, a, args[i])
		default:
			flags = append(flags, a)
		}
	}
	return flags, words, help
}

// valueFlags returns the names of the flags that take a value. A flag that takes one
// does so in every command.
func valueFlags(table []command) map[string]bool {
	names := map[string]bool{}
	for i := range table {
		table[i].flagSet().VisitAll(func(f *flag.Flag) {
			if !settings.IsSwitch(f.Value) {
				names[f.Name] = true
			}
		})
	}
	return names
}

// flags returns all flags of the command, and its action. The global flags, which are among
// them, set g.
func (cmd *command) flags(g *globals) (*flag.FlagSet, action) {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(io.Discard) // flagError reports errors
	set.Usage = func() {}
	g.declare(set)
	if cmd.Setup == nil {
		return set, cmd.Run
	}
	return set, cmd.Setup(set)
}

// flagSet returns all flags of the command, for callers that parse no arguments.
func (cmd *command) flagSet() *flag.FlagSet {
	set, _ := cmd.flags(new(globals))
	return set
}

type textFlag string

func (t *textFlag) Set(s string) error { *t = textFlag(s); return nil }
func (t *textFlag) String() string     { return string(*t) }

// number is an integer flag with bounds. It records whether it was given.
type number struct {
	least, most int64
	value       int64
	given       bool
}

func anyID() number  { return number{least: 1, most: math.MaxInt64} }
func anyKey() number { return number{least: 0, most: math.MaxInt64} }

func (n *number) Set(s string) error {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v < n.least || v > n.most {
		return fmt.Errorf("it must be an integer from %d to %d", n.least, n.most)
	}
	n.value, n.given = v, true
	return nil
}

func (n *number) String() string {
	if !n.given {
		return ""
	}
	return strconv.FormatInt(n.value, 10)
}

func setQuery(q url.Values, name string, value flag.Value) {
	if s := value.String(); s != "" {
		q.Set(name, s)
	}
}

// choice is a flag with a few possible values, in upper or lower case.
type choice struct {
	value string
	of    []string
}

func (c *choice) Set(s string) error {
	for _, v := range c.of {
		if strings.EqualFold(s, v) {
			c.value = v
			return nil
		}
	}
	return fmt.Errorf("it must be one of: %s", strings.Join(c.of, ", "))
}

func (c *choice) String() string { return c.value }

// duration is a flag for a length of time that is not negative.
type duration struct{ time.Duration }

func (d *duration) Set(s string) error {
	if strings.Trim(s, "0123456789.") == "" {
		s += "s"
	}
	v, err := time.ParseDuration(s)
	if err != nil || v < 0 {
		return fmt.Errorf("it must be a length of time such as 2s or 500ms, or a number of seconds")
	}
	d.Duration = v
	return nil
}

// baseURL is a flag for the addresses of a daemon, separated by commas. http:// may be
// omitted.
type baseURL struct{ value *string }

func (b baseURL) Set(s string) error {
	list := strings.Split(s, ",")
	for i, one := range list {
		if one = strings.TrimSpace(one); !strings.Contains(one, ":/") {
			list[i] = "http://" + one
		}
	}
	list, err := httpclient.URLs(strings.Join(list, ","))
	*b.value = strings.Join(list, ",")
	return err
}

func (b baseURL) String() string { return *b.value }

// checkRef returns an error for a word that is neither an id nor a name or code of its kind.
func checkRef(kind, word string) error {
	n := anyID()
	err := n.Set(word)
	switch {
	case err == nil, kind == "CONTAINER" && ledger.ValidContainerName(word), kind == "CLASS" && ledger.ValidClassCode(word):
		return nil
	case kind == "CONTAINER":
		return fmt.Errorf("%w, or a name", err)
	case kind == "CLASS":
		return fmt.Errorf("%w, or a code", err)
	}
	return err
}

// ref returns argument i, an id, name or code of the given kind, as a segment of a path.
func (c *call) ref(i int, kind string) (string, error) {
	if err := checkRef(kind, c.args[i]); err != nil {
		return "", usagef("%s is %q, but %v", kind, c.args[i], err)
	}
	return url.PathEscape(c.args[i]), nil
}

type reference struct{ kind, value string }

func (r *reference) Set(s string) error {
	r.value = s
	return checkRef(r.kind, s)
}

func (r *reference) String() string { return r.value }

// A moment is a flag for the number of a commit, a time as in RFC 3339, or a date. A
// date means the first nanosecond of the day in UTC or, if last is set, the last one.
type moment struct {
	last    bool
	seqOnly bool      // times are rejected
	seq     number    // the commit, if seq.given
	at      time.Time // the time; zero if the moment is a commit
	word    string    // the argument
}

const momentUsage = "a commit, a time such as 2026-01-31T12:00:00Z, or a date (UTC)"

func (m *moment) Set(s string) error {
	*m = moment{last: m.last, seqOnly: m.seqOnly, seq: anyKey(), word: s}
	if err := m.seq.Set(s); err == nil || m.seqOnly {
		return err
	}
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		if at, err = time.Parse(time.DateOnly, s); err == nil && m.last {
			at = at.AddDate(0, 0, 1).Add(-1)
		}
	}
	if err != nil {
		return fmt.Errorf("it must be %s", momentUsage)
	}
	m.at = at.UTC()
	return nil
}

func (m *moment) String() string { return m.word }

// ask sets the parameter <prefix>_seq or <prefix>_time of a query, if the flag was given.
func (m *moment) ask(q url.Values, prefix string) {
	switch {
	case m.seq.given:
		q.Set(prefix+"_seq", m.seq.String())
	case m.word != "":
		q.Set(prefix+"_time", m.at.Format(time.RFC3339Nano))
	}
}

// isFirst reports whether no commit can be before the moment: it is commit 0 or 1, or it
// was not given.
func (m *moment) isFirst() bool { return m.word == "" || m.seq.given && m.seq.value <= 1 }

// shifted returns the moment n commits, or n nanoseconds, later.
func (m *moment) shifted(n int64) moment {
	s := *m
	switch {
	case !s.seq.given:
		s.at = s.at.Add(time.Duration(n))
	case n < 0 || s.seq.value < math.MaxInt64:
		s.seq.value += n
	}
	return s
}

// A span holds the flags that limit a range of commits. -from and -to are inclusive,
// -after and -before are exclusive.
type span struct{ from, to, after, before moment }

// declare declares flags that take commits only. Without -to, s.to is the last possible commit.
func (s *span) declare(set *flag.FlagSet) {
	s.from.seqOnly, s.to.seqOnly, s.after.seqOnly, s.before.seqOnly = true, true, true, true
	s.to.seq.value = math.MaxInt64
	s.add(set, "SEQ", "")
}

// declareTimes declares flags that also take times.
func (s *span) declareTimes(set *flag.FlagSet) {
	s.to.last, s.after.last = true, true
	s.add(set, "SEQ|TIME", ": "+momentUsage)
}

func (s *span) add(set *flag.FlagSet, value, what string) {
	set.Var(&s.from, "from", "from this `"+value+"` on, inclusive"+what)
	set.Var(&s.to, "to", "up to this `"+value+"`, inclusive")
	set.Var(&s.after, "after", "only after this `"+value+"`")
	set.Var(&s.before, "before", "only before this `"+value+"`")
}

// ask sets the parameters of a query for a list of commits, or for a history.
func (s *span) ask(q url.Values, ofCommits bool) {
	if !ofCommits {
		s.from.ask(q, "from")
		s.to.ask(q, "to")
		return
	}
	if s.from.seq.given {
		q.Set("after", strconv.FormatInt(max(s.from.seq.value-1, 0), 10))
	}
	if next := s.to.shifted(1); next.seq.given {
		q.Set("before", next.seq.String())
	}
}

// settle replaces -after and -before with the equivalent -from and -to.
func (s *span) settle() error {
	switch {
	case s.from.word != "" && s.after.word != "":
		return usagef("-from and -after can't be combined")
	case s.to.word != "" && s.before.word != "":
		return usagef("-to and -before can't be combined")
	case s.before.word != "" && s.before.isFirst():
		return usagef("-before is %s, and there is no commit before the first", &s.before)
	}
	if s.after.word != "" {
		s.from = s.after.shifted(1)
	}
	if s.before.word != "" {
		s.to = s.before.shifted(-1)
	}
	// The span may be empty because of -after or -before. A commit and a time are not compared.
	from, next := &s.from, s.to.shifted(1)
	if from.seq.given && next.seq.given && from.seq.value > next.seq.value || !from.at.IsZero() && !s.to.at.IsZero() && from.at.After(next.at) {
		return usagef("the end is before the beginning: from %s to %s", from.said(), s.to.said())
	}
	return nil
}

// said returns the moment for a message: the number of the commit, or the time or date as
// it was given.
func (m *moment) said() string {
	if m.seq.given {
		return "commit " + m.seq.String()
	}
	return m.word
}
