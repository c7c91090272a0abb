package systemtest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetledger/ledger"
)

// A scriptedLedger gives requests with the same name one reply after another, and
// then repeats the last one. The name is the idempotency key of a commit, the hold of
// a preflight, or the last element of the path of a read.
type scriptedLedger struct {
	mu    sync.Mutex
	asked map[string]int // by kind of request and name
}

func (l *scriptedLedger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, name := "read", path.Base(r.URL.Path)
	if r.Method == http.MethodPost {
		var tx struct {
			Key        string `json:"idempotency_key"`
			Operations []struct {
				Args struct {
					Hold string `json:"hold_id"`
				}
			}
		}
		text, _ := io.ReadAll(r.Body)
		json.Unmarshal(text, &tx)
		kind, name = name, tx.Key
		if kind == "preflight" && tx.Key == "" && len(tx.Operations) == 1 {
			name = tx.Operations[0].Args.Hold
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if name == "commits" {
		l.asked[name]++
		scriptedReplies[feedReplies[min(l.asked[name], len(feedReplies))-1]](w)
		return
	}
	for i := range outcomeCases {
		if x := &outcomeCases[i]; x.name == name {
			n := l.asked[kind+" "+name]
			l.asked[kind+" "+name]++
			scriptedReplies[x.replies[min(n, len(x.replies)-1)]](w)
			return
		}
	}
	http.Error(w, "no such case", http.StatusTeapot)
}

// feedReplies are the replies to the connections of a feed, one after another.
// The client reconnects until it gets a 404 that is not the ledger's.
var feedReplies = []string{"html 502", "Internal", "html 504", "event", "cut", "html 404"}

// scriptedReplies are possible replies of a daemon, or of a server in between.
var scriptedReplies = map[string]func(http.ResponseWriter){
	"ok": replies(200, `{"global_seq":1,"batch_seq":1,"minted_instances":[],"metadata":{}}`),
	"{}": replies(200, "{}"),
	"event": func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "id: 1\ndata: {\"global_seq\":1}\n\n")
	},
	"cut":            func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
	"html 200":       replies(200, "<html>sign in</html>"),
	"html 302":       replies(302, "<html>moved</html>"),
	"html 404":       replies(404, "<html>not here</html>"),
	"json 404":       replies(404, `{"message":"no Route matched with those values"}`),
	"html 500":       replies(500, "<html>broken</html>"),
	"html 502":       replies(502, "<html>bad gateway</html>"),
	"html 503":       replies(503, "<html>unavailable</html>"),
	"html 504":       replies(504, "<html>timeout</html>"),
	"Internal":       replies(500, `{"error":{"code":"Internal","message":"No.","details":{}}}`),
	"LogUnavailable": replies(503, `{"error":{"code":"LogUnavailable","message":"No.","details":{}}}`),
	"Overloaded":     replies(503, `{"error":{"code":"Overloaded","message":"No.","details":{}}}`),
	"Overloaded, for a minute": func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "60")
		replies(503, `{"error":{"code":"Overloaded","message":"No.","details":{}}}`)(w)
	},
	"NotTheWriter":        replies(503, `{"error":{"code":"NotTheWriter","message":"No.","details":{}}}`),
	"NotFresh":            replies(425, `{"error":{"code":"NotFresh","message":"No.","details":{}}}`),
	"InsufficientBalance": replies(422, `{"error":{"code":"InsufficientBalance","message":"No.","details":{},"operation_index":0}}`),
}

func replies(status int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// outcomeCases are the outcomes of a commit with an idempotency key, and of a read.
// A preflight has the same outcomes as a read, because it changes nothing.
// With giveUp, no reply is final, so the client must give up. tries is the number of
// its attempts; 0: as many as the time permits.
var outcomeCases = []struct {
	name    string
	replies []string
	giveUp  bool
	tries   int
	commit  string
	read    string
}{
	{"defect-once", []string{"Internal", "ok"}, false, 2, "done", "done"},
	{"500-once", []string{"html 500", "ok"}, false, 2, "done", "done"},
	{"502-once", []string{"html 502", "ok"}, false, 2, "done", "done"},
	{"503-once", []string{"html 503", "ok"}, false, 2, "done", "done"},
	{"504-once", []string{"html 504", "ok"}, false, 2, "done", "done"},
	{"log-once", []string{"LogUnavailable", "ok"}, false, 2, "done", "done"},
	{"overloaded-once", []string{"Overloaded", "ok"}, false, 2, "done", "done"},
	{"cut-once", []string{"cut", "ok"}, false, 2, "done", "done"},
	{"late-once", []string{"NotFresh", "ok"}, false, 2, "done", "done"},
	{"refused", []string{"InsufficientBalance"}, false, 1, "refused InsufficientBalance", "refused InsufficientBalance"},
	{"refused-later", []string{"html 502", "InsufficientBalance"}, false, 2, "refused InsufficientBalance", "refused InsufficientBalance"},
	{"another-server", []string{"html 404"}, false, 1, "unknown", "unavailable"},
	{"another-server-json", []string{"json 404"}, false, 1, "unknown", "unavailable"},
	{"redirect", []string{"html 302"}, false, 1, "unknown", "unavailable"},
	{"sign-in", []string{"html 200"}, false, 1, "unknown", "unavailable"},
	{"no-result", []string{"{}"}, false, 1, "unknown", "done"},
	{"defect", []string{"Internal"}, true, 0, "unknown", "unavailable"},
	{"502", []string{"html 502"}, true, 0, "unknown", "unavailable"},
	{"cut", []string{"cut"}, true, 0, "unknown", "unavailable"},
	{"log", []string{"LogUnavailable"}, true, 0, "unknown", "unavailable"},
	{"overloaded", []string{"Overloaded, for a minute"}, true, 1, "unavailable", "unavailable"},
	{"standby", []string{"NotTheWriter"}, true, 0, "unavailable", "unavailable"},
	{"502-then-overloaded", []string{"html 502", "Overloaded"}, true, 0, "unknown", "unavailable"},
}

// TestClientsOutcomes sends the same requests with all clients. They must retry
// the same ones, and report the same outcomes.
func TestClientsOutcomes(t *testing.T) {
	t.Parallel()
	eachClient(t, func(t *testing.T, language string, run clientRun) {
		l := &scriptedLedger{asked: map[string]int{}}
		server := httptest.NewServer(l)
		defer server.Close()
		args := []string{"outcomes", server.URL}
		var want []string
		for _, x := range outcomeCases {
			seconds := "60"
			switch {
			case x.giveUp && x.tries > 0: // the first reply asks for a longer pause
				seconds = "5"
			case x.giveUp:
				seconds = "0.3"
			}
			args = append(args, x.name, seconds)
			want = append(want, "commit "+x.name+" "+x.commit, "preflight "+x.name+" "+x.read, "read "+x.name+" "+x.read)
		}
		want = append(want, "feed 1", "feed unavailable")
		told := outcomes(t, run, args)
		for range 5 { // if time runs out during an attempt, its outcome is unknown
			if at := slices.Index(told, "commit standby unknown"); at >= 0 {
				told[at] = outcomes(t, run, []string{"outcomes", server.URL, "standby", "1"})[0]
			}
		}
		if !slices.Equal(told, want) {
			t.Errorf("the client reports different outcomes (-want +got)\n%s", cmp.Diff(want, told))
		}
		for _, x := range outcomeCases {
			for _, kind := range []string{"commit", "preflight", "read"} {
				if n := l.asked[kind+" "+x.name]; n != x.tries && x.tries > 0 || n == 0 {
					t.Errorf("%s %s was sent %d times, want %d (0: at least once)", kind, x.name, n, x.tries)
				}
			}
		}
	})
}

// outcomes runs a client, and returns the lines that it prints.
func outcomes(t *testing.T, run func(string, ...string) *exec.Cmd, args []string) []string {
	t.Helper()
	cmd := run("drive", args...)
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	late := time.AfterFunc(3*time.Minute, func() { cmd.Process.Kill() })
	defer late.Stop()
	if err := cmd.Run(); err != nil {
		t.Fatalf("the driver failed: %v\n%s%s", err, out.String(), words.String())
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

// TestClientsCodes compares the list of error codes in the Python client with the
// codes of the ledger.
func TestClientsCodes(t *testing.T) {
	text, err := os.ReadFile("../../docs/clients/ledger.py")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), `CODES = """`)
	list, _, _ := strings.Cut(rest, `"""`)
	got, want := strings.Fields(list), []string{}
	for _, code := range ledger.Codes() {
		want = append(want, string(code))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the codes in ledger.py differ from those of the ledger (-want +got)\n%s", cmp.Diff(want, got))
	}
}
