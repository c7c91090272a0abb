package mirror

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"assetledger/ctl/client"
	"assetledger/server/httpclient"
	"assetledger/server/httpserver"
	"assetledger/server/logstream"
	"assetledger/wal"
)

const (
	// silenceLimit is how long a source may send nothing, not even a heartbeat,
	// before it counts as gone.
	silenceLimit = 5 * time.Second
	askLimit     = 10 * time.Second // for the header of a response, and for short responses
	maxAnswer    = 64 << 10         // bytes of a short response
)

// A Source holds the daemons that a log can be copied from. It uses one of them
// at a time.
type Source struct {
	urls    []string
	clients []*http.Client
	token   func() (string, error)
	log     *slog.Logger
	news    func(url string, durable uint64) // called with the durable end, each time a source reports it
	failing func(err error, round bool)      // called for each failure; round: all sources have been tried

	marks bool // Fill marks an unmarked directory as a copy
	alike int  // how many times in a row the source looked like the directory itself
	pause func(context.Context, time.Duration) error

	mu  sync.Mutex
	at  int    // index in urls of the current daemon
	who string // the header with which a mirror reports itself; "": none
}

// NewSource returns a source for the daemons of c. Its error is a
// *httpclient.SettingError. news may be nil. It is called each time that a
// daemon with the same log reports its durable end, heartbeats included.
func NewSource(c Config, log *slog.Logger, news func(url string, durable uint64)) (*Source, error) {
	urls, err := c.urls()
	if err != nil {
		return nil, httpclient.AsSetting(err)
	}
	s := &Source{urls: urls, token: c.token, log: log, news: news, pause: pause}
	s.failing = func(error, bool) {}
	if s.news == nil {
		s.news = func(string, uint64) {}
	}
	for _, url := range urls {
		transport, err := c.Trust.Transport(url, 2)
		if err != nil {
			return nil, httpclient.AsSetting(err)
		}
		transport.ResponseHeaderTimeout = askLimit
		transport.DisableCompression = true
		s.clients = append(s.clients, &http.Client{Transport: transport, CheckRedirect: client.NoRedirect})
	}
	_, err = c.token()
	return s, httpclient.AsSetting(err)
}

// String returns the URLs separated by commas.
func (s *Source) String() string { return strings.Join(s.urls, ",") }

// URL returns the URL of the current daemon.
func (s *Source) URL() string { return s.urls[s.current()] }

func (s *Source) current() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// turn moves on to the next daemon, and reports whether all have been tried.
func (s *Source) turn() (round bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = (s.at + 1) % len(s.urls)
	return s.at == 0
}

// A refusal is a response with an unexpected status.
type refusal struct {
	url, code, message string
	status             int
	end                uint64 // where the log of that daemon ends
	told               bool   // end is known
}

func (r *refusal) Error() string {
	if r.code == "" {
		return fmt.Sprintf("%s responded with status %d, but not in the format of a ledger daemon", r.url, r.status)
	}
	return fmt.Sprintf("%s responded with %d %s: %s", r.url, r.status, r.code, r.message)
}

// isRefusal reports whether err is a refusal with that status.
func isRefusal(err error, status int) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && r.status == status
}

// ask sends a request to the current daemon. The caller closes the body.
func (s *Source) ask(ctx context.Context, method, path string, header http.Header) (*http.Response, error) {
	i := s.current()
	req, err := http.NewRequestWithContext(ctx, method, client.OverHTTP(s.urls[i])+path, nil)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", "ledger-mirror")
	token, err := s.token() // read again each time: it may have been renewed
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := s.clients[i].Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusPartialContent {
		return resp, nil
	}
	defer resp.Body.Close()
	r := &refusal{url: s.urls[i], status: resp.StatusCode}
	var answer struct {
		Error struct{ Code, Message string }
	}
	if json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&answer) == nil {
		r.code, r.message = answer.Error.Code, answer.Error.Message
	}
	r.end, r.told = endOf(resp)
	if resp.Body.Close(); r.status == http.StatusUnauthorized { // an open connection keeps its old client certificate
		s.clients[i].CloseIdleConnections()
	}
	return nil, r
}

// report sets what the mirror reports about itself with each request for the log.
func (s *Source) report(m logstream.Mirror) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.who = string(m.Append(nil))
}

func (s *Source) reporting() http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.who == "" {
		return nil
	}
	return http.Header{logstream.HeaderMirror: {s.who}}
}

// end asks the source where its log ends, and reports that all commits before
// commit next are synced here.
func (s *Source) end(ctx context.Context, next uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, silenceLimit)
	defer cancel()
	resp, err := s.ask(ctx, http.MethodHead, logPath(next), s.reporting())
	if r, ok := errors.AsType[*refusal](err); ok && r.told { // its log begins after commit next, or ends before it
		return r.end, nil
	}
	if err != nil {
		return 0, err
	}
	resp.Body.Close()
	end, told := endOf(resp)
	if !told {
		return 0, fmt.Errorf("%s does not report where its log ends", s.URL())
	}
	return end, nil
}

// endOf returns the end of the log that a response reports.
func endOf(resp *http.Response) (end uint64, told bool) {
	end, err := strconv.ParseUint(resp.Header.Get(httpserver.HeaderSeq), 10, 63)
	return end, err == nil
}

func logPath(from uint64) string {
	return logstream.LogPattern + "?from=" + strconv.FormatUint(from, 10)
}

// A checkpoint describes one checkpoint of a source: its commit and its size in
// bytes.
type checkpoint struct {
	Seq   uint64
	Bytes int64
}

// checkpoints lists the checkpoints of the current daemon, newest first.
func (s *Source) checkpoints(ctx context.Context) ([]checkpoint, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	resp, err := s.ask(ctx, http.MethodGet, logstream.CheckpointsPattern, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer struct{ Checkpoints []checkpoint }
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&answer); err != nil {
		return nil, fmt.Errorf("the list of checkpoints of %s: %w", s.URL(), err)
	}
	slices.SortFunc(answer.Checkpoints, func(a, b checkpoint) int { return int(int64(b.Seq) - int64(a.Seq)) })
	return answer.Checkpoints, nil
}

// A stream is the log of a source as it arrives.
type stream struct {
	*wal.StreamReader
	url    string
	body   io.Closer
	cancel context.CancelFunc
}

// open requests the log of the current daemon. The parameter from is the commit to begin
// with.
func (s *Source) open(ctx context.Context, from uint64) (*stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	resp, err := s.ask(ctx, http.MethodGet, logPath(from), s.reporting())
	if err != nil {
		cancel()
		return nil, err
	}
	st := &stream{url: s.URL(), body: resp.Body, cancel: cancel}
	if st.StreamReader, err = wal.NewStreamReader(bufio.NewReaderSize(watched(resp.Body, cancel), 256<<10)); err != nil {
		st.Close()
		return nil, err
	}
	return st, nil
}

// Close ends the stream.
func (s *stream) Close() {
	s.cancel()
	s.body.Close()
}

// A watchedBody cancels its request when nothing arrives for silenceLimit.
type watchedBody struct {
	src   io.Reader
	timer *time.Timer
}

func watched(src io.Reader, cancel context.CancelFunc) *watchedBody {
	return &watchedBody{src, time.AfterFunc(silenceLimit, cancel)}
}

// Read reads from the body. The time between two calls does not count as
// silence.
func (w *watchedBody) Read(b []byte) (int, error) {
	w.timer.Reset(silenceLimit)
	n, err := w.src.Read(b)
	if !w.timer.Stop() && errors.Is(err, context.Canceled) {
		err = fmt.Errorf("nothing received for %v", silenceLimit)
	}
	return n, err
}

// download writes a checkpoint of the current daemon to w. When a connection
// breaks, it continues where it stopped. It fails after three tries in a row
// without progress.
func (s *Source) download(ctx context.Context, c checkpoint, w io.Writer) error {
	for at, tries := int64(0), 0; at < c.Bytes; {
		n, err := s.part(ctx, c, at, w)
		at += n
		switch {
		case at == c.Bytes:
		case n > 0 && ctx.Err() == nil:
			tries = 0
		default:
			if tries++; tries == 3 || ctx.Err() != nil {
				return fmt.Errorf("the checkpoint at commit %d of %s: %d of its %d bytes arrived: %w", c.Seq, s.URL(), at, c.Bytes, err)
			}
		}
	}
	return nil
}

// part requests the rest of a checkpoint, writes the bytes that arrive, and returns their
// number. The parameter at is the offset at which the rest begins.
func (s *Source) part(ctx context.Context, c checkpoint, at int64, w io.Writer) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	path := logstream.CheckpointsPattern + "/" + strconv.FormatUint(c.Seq, 10)
	resp, err := s.ask(ctx, http.MethodGet, path, http.Header{"Range": {fmt.Sprintf("bytes=%d-", at)}})
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if want := fmt.Sprintf("bytes %d-%d/%d", at, c.Bytes-1, c.Bytes); resp.Header.Get("Content-Range") != want {
		return 0, fmt.Errorf("it sent the range %q of the checkpoint instead of %q", resp.Header.Get("Content-Range"), want)
	}
	n, err := io.Copy(w, io.LimitReader(watched(resp.Body, cancel), c.Bytes-at))
	if err == nil && n < c.Bytes-at {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
