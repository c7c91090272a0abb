// Package logstream serves the log in a directory to other machines, from both
// daemons:
//
//	GET /v1/log?from=SEQ         the frames, from the batch that holds SEQ; the stream has no end
//	HEAD /v1/log?from=SEQ        where the log ends; mirrors report their progress with it
//	GET /v1/checkpoints          the checkpoints
//	GET /v1/checkpoints/{seq}    the bytes of one of them, or a range
//
// The main invariant: nothing is sent before it is durable. Each stream reads the
// log through a reader of its own, and readers return durable frames only.
//
// The file stream.go of package wal describes the bytes of a stream. A client that
// does not read a piece in time is disconnected. It may ask again for the frames
// that it lacks.
package logstream

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strconv"
	"sync"
	"time"

	"assetledger/ledger"
	"assetledger/server/auth"
	"assetledger/server/commitlog"
	"assetledger/server/httpserver"
	"assetledger/wal"
)

// Patterns of the routes.
const (
	LogPattern         = "/v1/log"
	CheckpointsPattern = "/v1/checkpoints"
	CheckpointPattern  = "/v1/checkpoints/{seq}"
)

const (
	// DefaultMaxStreams is the maximum number of open streams of the log, in a
	// daemon that has no setting for it. Each stream needs two file descriptors.
	DefaultMaxStreams = 256
	piece             = 256 << 10 // bytes after which the buffer is flushed
)

// A Server serves the log of a directory. It is safe for concurrent use.
type Server struct {
	file    commitlog.File
	streams *httpserver.Streams
	log     *slog.Logger
	mirrors mirrors
	readmit func(*httpserver.Exchange) *ledger.Error // authenticates a client again

	beatEvery time.Duration // time between two heartbeats
	patience  time.Duration // maximum time for a client to read a piece

	ctx  context.Context // done when the daemon stops
	stop context.CancelFunc

	mu  sync.Mutex
	end *wal.Reader // for waiting at the end; nil until the first wait
}

// New returns the server of a log. It opens no file yet.
func New(file commitlog.File, streams *httpserver.Streams, log *slog.Logger) *Server {
	s := &Server{file: file, streams: streams, log: log, beatEvery: time.Second, patience: 10 * time.Second}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Routes returns the routes of the server. A nil Server returns them for the
// description of the API.
func (s *Server) Routes() []httpserver.Route {
	return []httpserver.Route{
		{Method: "GET", Pattern: LogPattern, Handle: s.stream},
		{Method: "GET", Pattern: CheckpointsPattern, Handle: s.list},
		{Method: "GET", Pattern: CheckpointPattern, Handle: s.checkpoint},
	}
}

// ServedBy sets the API that the routes are part of. Streams use it to
// authenticate their clients again.
func (s *Server) ServedBy(a *httpserver.API) {
	s.readmit = func(x *httpserver.Exchange) *ledger.Error { return a.Readmit(x, LogPattern) }
}

// Drain ends all streams. Clients may continue at another daemon, or later.
func (s *Server) Drain() {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		s.end.Close()
		s.end = nil
	}
}

// wait waits for a commit after seq, for at most d.
func (s *Server) wait(seq uint64, d time.Duration) error {
	s.mu.Lock()
	if s.ctx.Err() != nil {
		s.mu.Unlock()
		return s.ctx.Err()
	}
	if s.end == nil {
		r, err := wal.OpenReader(s.file.Dir, s.file.Opt)
		if err != nil {
			s.mu.Unlock()
			return err
		}
		s.end = r
	}
	r := s.end
	s.mu.Unlock()
	r.Wait(seq, d)
	return nil
}

// reopen closes the reader in s.end, because the directory may hold another log now.
// The next call of wait opens a new one.
func (s *Server) reopen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		s.end.Close()
		s.end = nil
	}
}

// everything returns an error for clients that may not see the whole ledger.
func everything(x *httpserver.Exchange) *ledger.Error {
	if !x.Who.Limited() {
		return nil
	}
	return ledger.Errorf(ledger.Forbidden, "%s is limited to containers of some owners, and the log shows all of the ledger.", x.Who.Name).
		With(ledger.Text("scope", auth.Log.String()))
}

// parseFrom parses the query, whose only parameter is named "from".
func parseFrom(raw string) (uint64, *ledger.Error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return 0, wrongParameter(raw, "The query can't be decoded: %v.", err)
	}
	for name := range query {
		if name != "from" {
			return 0, wrongParameter(name, "There is no query parameter %s here; the only one is \"from\".", httpserver.Shorten(name))
		}
	}
	values := query["from"]
	if len(values) != 1 {
		return 0, wrongParameter("from", "The query must have the parameter \"from\" once: the commit to begin with, or 1 for the first.")
	}
	seq, ok := parseSeq(values[0])
	if !ok {
		return 0, wrongParameter("from", "The query parameter \"from\" must be an integer from 1 to 9223372036854775807, not %q.", httpserver.Shorten(values[0]))
	}
	return seq, nil
}

func wrongParameter(name, format string, args ...any) *ledger.Error {
	return ledger.Errorf(ledger.InvalidParameter, format, args...).With(ledger.Text("parameter", httpserver.Shorten(name)))
}

// parseSeq parses a global_seq from 1 to 2^63-1, without leading zeros.
func parseSeq(s string) (uint64, bool) {
	v, err := strconv.ParseInt(s, 10, 64)
	return uint64(v), err == nil && v > 0 && s[0] != '+' && s[0] != '0'
}

// refusal turns an error of the log into an error response.
func (s *Server) refusal(from uint64, err error) *ledger.Error {
	var archived *wal.ArchivedError
	switch {
	case errors.As(err, &archived):
		return ledger.Errorf(ledger.CommitArchived, "Commit %d was moved to an archive; the log here begins at commit %d.", archived.Seq, archived.First).
			With(ledger.Num("global_seq", int64(archived.Seq)), ledger.Num("first_seq", int64(archived.First)))
	case errors.Is(err, wal.ErrNoLog):
		return ledger.Errorf(ledger.LogUnavailable, "There is no log here yet: try again later.")
	case wal.FilesShort(err):
		return ledger.Errorf(ledger.Overloaded, "This daemon has too many files open to read the log: try again.")
	}
	s.log.Error("the log that another machine requested can't be read", "from", from, "error", err)
	return ledger.Errorf(ledger.LogUnavailable, "The log can't be read: see the log lines of this daemon.")
}
