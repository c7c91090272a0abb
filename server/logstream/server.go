// Package logstream serves the log in a directory to other machines, from both
// daemons:
//
//	GET /v1/log?from=SEQ         the frames from the batch that holds SEQ on, without an end
//	HEAD /v1/log?from=SEQ        where the log ends; mirrors say by it how far they are
//	GET /v1/checkpoints          the checkpoints
//	GET /v1/checkpoints/{seq}    one of them, with Range
//
// The bytes of a stream are described in package wal, stream.go. A stream reads
// the log by a reader of its own, so what is not durable is never sent. A client
// that does not take a piece in time is dropped, and asks again for what it lacks.
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
	// DefaultMaxStreams is how many streams of the log are open at a time in a
	// daemon that has no setting for it. One costs two file descriptors.
	DefaultMaxStreams = 256
	piece             = 256 << 10 // bytes after which what was written is sent
)

// A Server serves the log of a directory. Its methods may be called from any goroutine.
type Server struct {
	file    commitlog.File
	streams *httpserver.Streams
	log     *slog.Logger
	mirrors mirrors
	readmit func(*httpserver.Exchange) *ledger.Error // authenticates a client once more

	beatEvery time.Duration // between two heartbeats
	patience  time.Duration // for a client to take a piece

	ctx  context.Context // done when the daemon stops
	stop context.CancelFunc

	mu  sync.Mutex
	end *wal.Reader // for waiting at the end; nil until it is needed
}

// New makes the server of a log. It opens nothing yet.
func New(file commitlog.File, streams *httpserver.Streams, log *slog.Logger) *Server {
	s := &Server{file: file, streams: streams, log: log, beatEvery: time.Second, patience: 10 * time.Second}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Routes are the routes of the server, which may be nil when they are only described.
func (s *Server) Routes() []httpserver.Route {
	return []httpserver.Route{
		{Method: "GET", Pattern: LogPattern, Handle: s.stream},
		{Method: "GET", Pattern: CheckpointsPattern, Handle: s.list},
		{Method: "GET", Pattern: CheckpointPattern, Handle: s.checkpoint},
	}
}

// ServedBy names the API that the routes became part of.
func (s *Server) ServedBy(a *httpserver.API) {
	s.readmit = func(x *httpserver.Exchange) *ledger.Error { return a.Readmit(x, LogPattern) }
}

// Drain ends all streams. A client asks again elsewhere, or later.
func (s *Server) Drain() {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		s.end.Close()
		s.end = nil
	}
}

// wait waits until the log ends after seq, for at most d.
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

// reopen forgets the reader that wait has used: the log may be another now.
func (s *Server) reopen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		s.end.Close()
		s.end = nil
	}
}

// everything refuses clients that may not see all of the ledger.
func everything(x *httpserver.Exchange) *ledger.Error {
	if !x.Who.Limited() {
		return nil
	}
	return ledger.Errorf(ledger.Forbidden, "%s is limited to containers of some owners, and the log shows all of the ledger.", x.Who.Name).
		With(ledger.Text("scope", auth.Log.String()))
}

// parseFrom reads the query, which holds from.
func parseFrom(raw string) (uint64, *ledger.Error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return 0, wrongParameter(raw, "The query can't be decoded: %v.", err)
	}
	for name := range query {
		if name != "from" {
			return 0, wrongParameter(name, "There is no query parameter %s here; use from.", httpserver.Shorten(name))
		}
	}
	values := query["from"]
	if len(values) != 1 {
		return 0, wrongParameter("from", "The query must have the parameter from once: the commit to begin with, 1 for the first.")
	}
	seq, ok := parseSeq(values[0])
	if !ok {
		return 0, wrongParameter("from", "The query parameter from must be an integer from 1, and is %q.", httpserver.Shorten(values[0]))
	}
	return seq, nil
}

func wrongParameter(name, format string, args ...any) *ledger.Error {
	return ledger.Errorf(ledger.InvalidParameter, format, args...).With(ledger.Text("parameter", httpserver.Shorten(name)))
}

// parseSeq reads a global_seq from 1 to 2^63-1: digits without a zero in front.
func parseSeq(s string) (uint64, bool) {
	v, err := strconv.ParseInt(s, 10, 64)
	return uint64(v), err == nil && v > 0 && s[0] != '+' && s[0] != '0'
}

// refusal turns an error of the log into an answer.
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
	s.log.Error("the log can't be read for another machine", "from", from, "error", err)
	return ledger.Errorf(ledger.LogUnavailable, "The log can't be read: see the log lines of this daemon.")
}
