package systemtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A streamLedger serves streams of commits, and feeds, as the scripts of
// streamCases say. The bearer token of a request is the name of its case.
type streamLedger struct {
	mu    sync.Mutex
	asked map[string]int // requests by token
}

// streamCases are feeds, and streams of the transactions with the idempotency keys 1
// and 2, with what clients report about them. Each connection has its own script; the
// last script is repeated. A script consists of these words:
//
//	done        commit the next line
//	line:CODE   reject the next line
//	last:CODE   end the stream, for this reason, and wait for the end of the request
//	cut         close the connection
//	feed        serve the three commits of a feed
//	STATUS:CODE respond with an error and Retry-After: 30 instead of a stream; without a CODE, with an empty body, as another server might
var streamCases = []struct {
	name    string
	scripts []string
	giveUp  string // seconds
	asked   int    // 0: as often as time permits
	want    string
}{
	{"feed-waits", []string{"503:Overloaded"}, "60", 1, "waits"}, // until the end of all other cases
	{"whole", []string{"done done"}, "60", 1, "1=1 2=2"},
	{"silence", []string{"done last:MalformedJSON", "done"}, "60", 2, "1=1 2=2"},
	{"stopping", []string{"done last:ShuttingDown", "done"}, "3", 2, "1=1 2=2"},
	{"cut-once", []string{"done cut", "done"}, "60", 2, "1=1 2=2"},
	{"log-once", []string{"done line:LogUnavailable", "done"}, "60", 2, "1=1 2=2"},
	{"malformed-line", []string{"line:MalformedJSON done"}, "60", 1, "1=MalformedJSON 2=2"},
	{"forbidden-line", []string{"line:Forbidden done"}, "60", 1, "1=Forbidden 2=2"},
	{"revoked", []string{"done last:Unauthorized"}, "60", 1, "1=1 refused Unauthorized"},
	{"lost-scope", []string{"done last:Forbidden"}, "60", 1, "1=1 refused Forbidden"},
	{"revoked-after-stop", []string{"done last:ShuttingDown", "401:Unauthorized"}, "60", 2, "1=1 refused Unauthorized"},
	{"revoked-in-doubt", []string{"done cut", "401:Unauthorized"}, "60", 2, "1=1 unknown 2"},
	{"gone", []string{"404:"}, "60", 1, "unavailable"},
	{"gone-in-doubt", []string{"done cut", "404:"}, "60", 2, "1=1 unknown 2"},
	{"standby", []string{"503:NotTheWriter"}, "0.3", 0, "unavailable"},
	{"standby-once", []string{"503:NotTheWriter", "done done"}, "3", 2, "1=1 2=2"}, // its Retry-After is not binding
	{"stopping-once", []string{"503:ShuttingDown", "done done"}, "3", 2, "1=1 2=2"},
	{"cut", []string{"cut"}, "0.3", 0, "unknown 1"},
	{"waits-too-long", []string{"503:Overloaded"}, "3", 1, "unavailable"},
	{"source", []string{"done done"}, "60", 1, "1=1 2=2 source failed"},
	{"batches", nil, "60", 1, "1=1 2=2"},
	{"batches-short", nil, "60", 1, "unknown 1"},
	{"elsewhere", []string{"done"}, "3", 8, "8 done"},
	{"feed-after", nil, "60", 1, "2 3"},
	{"feed-position", nil, "60", 1, "1 failed"},
	{"cursor", nil, "60", 0, "file folder"}, // what is synced, in this order
	{"feed-sign-in", nil, "60", 1, "unavailable"},
	{"feed-stopping", []string{"503:ShuttingDown", "feed"}, "60", 2, "1 2 3"},
}

// notGo are the cases that Go does not have: its iterators can't fail, its client
// needs no batches, and a test can't observe what it syncs.
var notGo = map[string]bool{"source": true, "batches": true, "batches-short": true, "cursor": true}

func (l *streamLedger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	l.mu.Lock()
	l.asked[name]++
	n := l.asked[name]
	l.mu.Unlock()
	for _, x := range streamCases {
		switch {
		case x.name != name:
		case name == "batches":
			replies(200, `{"results":[{"global_seq":1},{"global_seq":2}]}`)(w)
		case name == "batches-short":
			replies(200, `{"results":[{"global_seq":1}]}`)(w)
		case name == "elsewhere":
			replies(200, cutCommit)(w)
		case name == "feed-sign-in":
			replies(200, "<html>sign in</html>")(w)
		case x.scripts == nil:
			cutFeed(w, r)
		default:
			playStream(w, r, strings.Fields(x.scripts[min(n, len(x.scripts))-1]))
		}
	}
}

// playStream plays the script of one connection.
func playStream(w http.ResponseWriter, r *http.Request, script []string) {
	control := http.NewResponseController(w)
	control.EnableFullDuplex()
	defer control.SetReadDeadline(time.Unix(1, 0)) // don't wait for the rest of the request
	w.Header().Set("Connection", "close")
	in := bufio.NewScanner(r.Body)
	for answered, word := range script {
		kind, code, _ := strings.Cut(word, ":")
		const failure = `{"error":{"code":%q,"message":"No.","details":{%s}}}` + "\n"
		if status, err := strconv.Atoi(kind); err == nil {
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(status)
			if code != "" {
				fmt.Fprintf(w, failure, code, "")
			}
			return
		}
		if answered == 0 {
			if kind == "feed" {
				cutFeed(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/x-ndjson")
			control.Flush()
		}
		var tx struct {
			Key string `json:"idempotency_key"`
		}
		for kind != "last" && tx.Key == "" && in.Scan() { // empty lines keep a stream open
			json.Unmarshal(in.Bytes(), &tx)
		}
		switch kind {
		case "done":
			fmt.Fprintf(w, `{"global_seq":%s,"batch_seq":1,"minted_instances":[],"metadata":{}}`+"\n", tx.Key)
		case "line":
			fmt.Fprintf(w, failure, code, "")
		case "last":
			fmt.Fprintf(w, failure, code, fmt.Sprintf(`"lines_answered":%d`, answered))
		case "cut":
			panic(http.ErrAbortHandler)
		}
		control.Flush()
	}
	io.Copy(io.Discard, r.Body)
}

// TestClientsStreams plays feeds, and streams of commits that end in every way.
// All clients must report the same outcomes.
func TestClientsStreams(t *testing.T) {
	t.Parallel()
	eachClient(t, func(t *testing.T, language string, run clientRun) {
		folder := t.TempDir()
		l := &streamLedger{asked: map[string]int{}}
		server := httptest.NewServer(l)
		defer server.Close()
		standby := httptest.NewServer(&crowdedStandby{missing: 8, crowd: make(chan struct{})})
		defer standby.Close()
		args := []string{"streams", standby.URL, server.URL, filepath.Join(folder, "nowhere", "cursor")}
		var want []string
		for _, x := range streamCases {
			if language == "go" && notGo[x.name] {
				continue
			}
			args = append(args, x.name, x.giveUp)
			want = append(want, x.name+" "+x.want)
		}
		cmd := run("drive", args...)
		var out, words bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &words
		late := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
		defer late.Stop()
		if err := cmd.Run(); err != nil {
			t.Fatalf("the driver failed: %v\n%s%s", err, out.String(), words.String())
		}
		if told := strings.Split(strings.TrimSpace(out.String()), "\n"); !slices.Equal(told, want) {
			t.Errorf("the client reports different outcomes (-want +got)\n%s", cmp.Diff(want, told))
		}
		for _, x := range streamCases {
			if n := l.asked[x.name]; x.asked > 0 && n != x.asked && !(language == "go" && notGo[x.name]) {
				t.Errorf("%s: asked %d times, want %d", x.name, n, x.asked)
			}
		}
	})
}

// A crowdedStandby is a daemon that is not the writer. It responds to several
// requests once all of them have arrived, and rejects every later one as a
// repetition.
type crowdedStandby struct {
	mu      sync.Mutex
	missing int // number of requests yet to arrive
	crowd   chan struct{}
}

func (s *crowdedStandby) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	s.mu.Lock()
	if s.missing--; s.missing == 0 {
		close(s.crowd)
	}
	more := s.missing < 0
	s.mu.Unlock()
	<-s.crowd
	if w.Header().Set("Retry-After", "30"); more {
		replies(422, `{"error":{"code":"InvalidOperation","message":"It was asked again.","details":{}}}`)(w)
		return
	}
	scriptedReplies["NotTheWriter"](w)
}
