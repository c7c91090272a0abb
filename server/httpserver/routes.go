package httpserver

import (
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"assetledger/ledger"
	"assetledger/server/metrics"
)

// A Handler serves one request: it leaves the response in x, or returns an error.
type Handler func(x *Exchange) *ledger.Error

// A Route is one method of one path. Pattern has the syntax of net/http's ServeMux,
// without the method. It is also the route's label in the metrics.
type Route struct {
	Method, Pattern string
	Handle          Handler
}

// An API serves a table of routes. Its errors are JSON, even those for unknown paths
// and methods, and every response is counted.
type API struct {
	mux      *http.ServeMux
	Panics   atomic.Uint64
	Log      *slog.Logger
	prefix   string // prefix of metric names
	registry *metrics.Registry
	// LogAll logs every request, instead of only failed ones.
	LogAll  bool
	Gate    *Gate // nil: all clients may do everything
	local   bool  // all clients are on this machine; see isForeignPage
	unclean http.Handler
	warned  atomic.Int64           // time of the last WARN line of a request, in Unix nanoseconds
	Budget  *Budget                // bounds the bytes of all requests and responses; nil for no bound
	meters  map[string]*routeMeter // by pattern; not changed while serving
}

// NewAPI returns an API with the given routes. The names of its metrics begin with
// prefix.
func NewAPI(routes []Route, prefix string, registry *metrics.Registry, log *slog.Logger) *API {
	a := &API{mux: http.NewServeMux(), Log: log, prefix: prefix, registry: registry, meters: map[string]*routeMeter{}}
	methods := map[string][]string{}
	var patterns []string // in the order of the table, which becomes the order of the metrics
	for _, r := range routes {
		if methods[r.Pattern] == nil {
			patterns = append(patterns, r.Pattern)
		}
		methods[r.Pattern] = append(methods[r.Pattern], r.Method)
		if r.Method == http.MethodGet {
			methods[r.Pattern] = append(methods[r.Pattern], http.MethodHead)
		}
	}
	for _, r := range routes {
		a.mux.Handle(r.Method+" "+r.Pattern, a.measured(r.Pattern, a.gated(r.Pattern, r.Handle)))
	}
	for _, p := range patterns {
		allow := slices.Compact(slices.Sorted(slices.Values(methods[p])))
		a.mux.Handle(p, a.measured(p, methodNotAllowed(strings.Join(allow, ", "))))
	}
	notFound := a.measured("none", func(x *Exchange) *ledger.Error {
		return ledger.Errorf(ledger.NotFound, "There is nothing at this path; docs/api.md lists the paths. A / in a name is written %%2F.").
			With(ledger.Text("path", x.R.URL.Path))
	})
	if methods["/"] == nil {
		a.mux.Handle("/", notFound)
	}
	a.unclean = notFound
	return a
}

// ServeHTTP responds according to the table of routes.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A name in the path is one escaped segment and may contain slashes.
	if !cleanPath(r.URL.EscapedPath()) {
		a.unclean.ServeHTTP(w, r) // the mux would redirect, which is not a JSON response
		return
	}
	a.mux.ServeHTTP(w, r)
}

// cleanPath reports whether the mux would accept the path unchanged.
func cleanPath(p string) bool {
	rest, rooted := strings.CutPrefix(p, "/")
	for more := rooted; more; {
		var segment string
		segment, rest, more = strings.Cut(rest, "/")
		if segment == "." || segment == ".." || segment == "" && more {
			return false
		}
	}
	return rooted
}

func methodNotAllowed(allow string) Handler {
	return func(x *Exchange) *ledger.Error {
		x.W.Header()["Allow"] = []string{allow}
		method := Shorten(x.R.Method)
		return ledger.Errorf(ledger.MethodNotAllowed, "The method %s is not allowed here; use %s.", method, allow).
			With(ledger.Text("method", method), ledger.Text("allow", allow))
	}
}

// A routeMeter counts the responses of one route by status.
type routeMeter struct {
	byStatus [600]*metrics.Counter
	duration *metrics.Histogram
}

// statuses lists the possible statuses of a response, ascending.
var statuses = func() []int {
	list := []int{http.StatusOK, http.StatusPartialContent, http.StatusNotModified}
	for _, code := range ledger.Codes() {
		list = append(list, code.Status())
	}
	return slices.Compact(list)
}()

// meter returns the meter of the pattern, which all its methods share.
func (a *API) meter(pattern string) *routeMeter {
	if m := a.meters[pattern]; m != nil {
		return m
	}
	m := &routeMeter{duration: a.registry.Histogram(a.prefix+"request_duration_seconds",
		"Time from the header of a request to its response, in seconds, by route.", 1e-9, metrics.Bounds, "route", pattern)}
	for _, s := range statuses {
		m.byStatus[s] = a.registry.SparseCounter(a.prefix+"requests_total",
			"Number of requests answered, by route and status.", "route", pattern, "status", strconv.Itoa(s))
	}
	a.meters[pattern] = m
	return m
}

// measured wraps a handler. It adds a pooled exchange, the handling of errors and
// panics, metrics, and the log line.
func (a *API) measured(pattern string, handle Handler) http.Handler {
	m := a.meter(pattern)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		x := newExchange(w, r)
		x.Claim.budget, x.Claim.of = a.Budget, x
		x.id = requestID(r)
		x.SetHeader(headerRequestID, x.id)
		if len(r.TransferEncoding) != 0 {
			// A proxy may disagree about where this body ends, so no request may
			// follow it (RFC 9112, section 6.1).
			w.Header()["Connection"] = []string{"close"}
		}
		x.finish(a.Guarded(x, handle))
		took := time.Since(start)
		if !x.Streamed {
			m.duration.Observe(int64(took))
		}
		m.byStatus[x.Status].Add(1)
		a.tell(x, took)
		if x.unwanted {
			x.discardRest()
		}
		x.release()
	})
}

// tell writes the log line of a failed request, or of every request if LogAll is
// set. Failures that clients can cause at will are logged at a level that is off by
// default, so that clients can't fill the disk.
func (a *API) tell(x *Exchange, took time.Duration) {
	level := slog.LevelDebug
	switch {
	case x.Status == http.StatusInternalServerError:
		level = slog.LevelError
	case x.Status > 500 && x.ErrCode != ledger.Overloaded && x.ErrCode != ledger.ShuttingDown && x.ErrCode != ledger.NotTheWriter:
		if level = slog.LevelWarn; !a.LogAll && !a.mayWarn() {
			level = slog.LevelDebug
		}
	case a.LogAll:
		level = slog.LevelInfo
	case x.Status < 400:
		return
	}
	ctx := x.R.Context()
	if !a.Log.Enabled(ctx, level) {
		return
	}
	who := ""
	if x.Who != nil {
		who = x.Who.Name
	}
	a.Log.Log(ctx, level, "request", "request_id", x.id, "principal", who, "method", Shorten(x.R.Method), "path", Shorten(x.R.URL.Path),
		"status", x.Status, "code", string(x.ErrCode), "took", took)
}

// mayWarn reports whether a second has passed since it last returned true. While the
// disk is full, every commit fails, and clients retry.
func (a *API) mayWarn() bool {
	last, now := a.warned.Load(), time.Now().UnixNano()
	return now-last >= int64(time.Second) && a.warned.CompareAndSwap(last, now)
}

// Guarded runs a handler. If it panics, the response is 500, and the panic is
// logged and counted. A panic with http.ErrAbortHandler is passed on instead.
func (a *API) Guarded(x *Exchange, handle Handler) (err *ledger.Error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if p == http.ErrAbortHandler {
			panic(p)
		}
		a.Panics.Add(1)
		a.Log.Error("panic in a handler: a defect in the ledger, please report it", "panic", p, "request_id", x.id, "path", x.R.URL.Path, "stack", string(debug.Stack()))
		err = ledger.Errorf(ledger.Internal, "This request failed because of a defect in the ledger.")
	}()
	return handle(x)
}
