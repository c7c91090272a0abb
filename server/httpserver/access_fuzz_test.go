package httpserver

import (
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"assetledger/server/auth"
	"assetledger/server/servertest"
)

// FuzzIdentity checks that an Authorization header identifies one client or none, that
// the challenge in the response is a valid header, and that only a valid request id is
// kept.
func FuzzIdentity(f *testing.F) {
	gate := NewGate("auth", servertest.Tenants(f), slog.New(slog.DiscardHandler))
	for _, v := range []string{"Bearer s", "bearer s", "Bearer  s", "Basic s", "Bearer a-long-secret", "", "Bearer"} {
		f.Add(v, "id-1")
	}
	f.Fuzz(func(t *testing.T, authorization, id string) {
		r := &http.Request{Header: http.Header{"Authorization": {authorization}, headerRequestID: {id}}}
		who, err := gate.admit(r, auth.Read, "/v1/read/classes")
		scheme, token, _ := strings.Cut(authorization, " ")
		knows := strings.EqualFold(scheme, "bearer") && (token == "s" || token == "a-long-secret")
		if (who != nil) != knows || (err == nil) != knows {
			t.Fatalf("%q identifies %v, error %v; want a client: %v", authorization, who, err, knows)
		}
		if err != nil {
			if c := challenge(err)[0]; !strings.HasPrefix(c, `Bearer realm="ledger"`) || strings.Count(c, `"`)%2 != 0 || strings.ContainsAny(c, "\r\n") {
				t.Fatalf("the challenge to %q is the invalid header %q", authorization, c)
			}
		}
		got := requestID(r)
		if !fitRequestID(got) || got != id && fitRequestID(id) {
			t.Fatalf("the request id %q became %q", id, got)
		}
	})
}

// FuzzEnvironment checks that no values of the service manager's variables cause a
// panic, the takeover of a socket that was not opened for this process, or an absurd
// rate of signs of life.
func FuzzEnvironment(f *testing.F) {
	f.Add("/run/notify", "30000000", "1", "1", "1")
	f.Add("@abstract", "-1", "", "x", "2")
	f.Add("", "9223372036854775807", "", "", "")
	f.Fuzz(func(t *testing.T, path, usec, watchdogPID, listenPID, fds string) {
		if listenPID == strconv.Itoa(os.Getpid()) {
			fds = "2" // descriptor 3 of a test process must not be taken over
		}
		env := map[string]string{"NOTIFY_SOCKET": path, "WATCHDOG_USEC": usec, "WATCHDOG_PID": watchdogPID, "LISTEN_PID": listenPID, "LISTEN_FDS": fds}
		lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
		if ln, err := Inherited(lookup); ln != nil || err != nil && !IsUsage(err) {
			t.Fatalf("%q: Inherited returned %v, %v; want no listener, and no error except a usage error", env, ln, err)
		}
		if n, err := NewNotifier(lookup); err == nil && n != nil {
			n.conn.Close()
		}
		pace := watchdogTime(lookup)
		if want, err := strconv.ParseInt(usec, 10, 64); pace != 0 && (err != nil || pace/time.Microsecond != time.Duration(want)) || pace < 0 {
			t.Fatalf("%q: the manager waits %v for a sign of life, want the value of WATCHDOG_USEC or 0", env, pace)
		}
	})
}
