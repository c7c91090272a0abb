package ctl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"mime"
	"net/http"
	"strconv"
	"time"

	"assetledger/server/httpclient"
)

// A feed follows the commits of a read daemon as server-sent events (the HTML
// standard, section 9.2):
//
//	connect → event, event, … → lost → connect again after the last event → …
//
// The read daemon breaks a silence of 15 s by a comment; a longer one means
// that the connection is dead.
type feed struct {
	c        *call
	last     int64 // commit seen last
	lines    *lineReader
	progress bool // the last attempt lasted, or had a commit
	late     *time.Timer
	deadline time.Duration // without a commit, where commits are known to be there; 0: none
}

const (
	feedSilence = 45 * time.Second // without a byte
	feedLasted  = 15 * time.Second // what a healthy daemon's connection lasts at least
	maxEvent    = 64 << 20         // bytes of one event
)

// follow calls each for every commit after `after`, with the commit's JSON,
// until ctx is done (then the error is nil) or each returns an error. A
// connection that is lost is made again, for as long as the call's time. When
// the log is known to go up to a commit, known, the next one must come within
// that time too; otherwise known is math.MaxInt64.
func (c *call) follow(ctx context.Context, after, known int64, each func(seq int64, commit []byte) error) error {
	f := &feed{c: c, last: after}
	if known < math.MaxInt64 {
		f.deadline = c.timeout.Duration
	}
	var lostAt time.Time
	for i := 0; ; {
		f.progress = false
		err := f.stream(ctx, each, after)
		var lost *noAnswer
		switch {
		case ctx.Err() != nil:
			return nil
		case !errors.As(err, &lost) || lost.neverSent() && lostAt.IsZero() && f.lines == nil:
			return err
		case lostAt.IsZero() || f.progress:
			lostAt, i = time.Now(), 0
			c.say("%v; trying again", err)
		case time.Since(lostAt) > c.timeout.Duration:
			return exitf(exitSilent, "%v; gave up after %v: -timeout gives it longer", err, c.timeout.Duration)
		}
		if i++; c.api.pause(ctx, backoff(i, nil)) != nil {
			return nil
		}
	}
}

// errEnough ends a feed without being an error.
var errEnough = errors.New("enough was seen")

// stream is one connection. Its end is a noAnswer, as is a daemon that stops.
func (f *feed) stream(ctx context.Context, each func(int64, []byte) error, after int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	base := f.c.api.address(f.c.readURL)
	address := httpclient.OverHTTP(base) + "/v1/read/commits?after=" + strconv.FormatInt(after, 10)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	if f.last > after {
		req.Header.Set("Last-Event-ID", strconv.FormatInt(f.last, 10))
	}
	silence := time.AfterFunc(feedSilence, cancel)
	defer silence.Stop()
	if f.deadline > 0 {
		f.late = time.AfterFunc(f.deadline, cancel)
		defer f.late.Stop()
	}
	begin := time.Now()
	defer func() { f.progress = f.progress || f.deadline == 0 && time.Since(begin) >= feedLasted }()
	resp, err := f.c.api.send(base, req)
	if err != nil {
		f.c.api.turn(f.c.readURL, base)
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return f.refused(resp)
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/event-stream" {
		return fmt.Errorf("the answer of %s is not a stream of commits: check -read-url", base)
	}
	f.lines = newLineReader(resp.Body, maxEvent)
	var event []byte
	for {
		line, err := f.lines.next()
		if errors.Is(err, errLongLine) {
			return fmt.Errorf("an event of %s is larger than %d bytes", base, maxEvent)
		}
		if err != nil {
			f.c.api.turn(f.c.readURL, base)
			return &noAnswer{url: base, err: err}
		}
		silence.Reset(feedSilence)
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if event = append(event, bytes.TrimPrefix(data, []byte(" "))...); len(event) > maxEvent {
				return fmt.Errorf("an event of %s is larger than %d bytes", base, maxEvent)
			}
			continue
		}
		if len(line) > 0 || len(event) == 0 {
			continue // a comment, or the id, which is in the data too
		}
		if err := f.event(event, each); err != nil {
			return err
		}
		event = event[:0]
	}
}

// refused is the error of an answer that is no stream. A daemon that is
// stopping, or has too many streams, may take it later.
func (f *feed) refused(resp *http.Response) error {
	var body bytes.Buffer
	body.ReadFrom(http.MaxBytesReader(nil, resp.Body, 1<<20))
	err := newAPIError(&answer{status: resp.StatusCode, header: resp.Header, body: body.Bytes(), url: f.c.readURL + "/v1/read/commits"})
	if resp.StatusCode == http.StatusServiceUnavailable {
		return &noAnswer{url: f.c.readURL, err: err}
	}
	return err
}

// event takes one commit, and shows what was written before waiting for more.
func (f *feed) event(data []byte, each func(int64, []byte) error) error {
	var commit struct {
		GlobalSeq int64 `json:"global_seq"`
	}
	if err := json.Unmarshal(data, &commit); err != nil || commit.GlobalSeq <= f.last {
		return fmt.Errorf("an event of %s is no commit after %d", f.c.readURL, f.last)
	}
	if err := each(commit.GlobalSeq, data); err != nil {
		return err
	}
	f.last, f.progress = commit.GlobalSeq, true
	if f.late != nil {
		f.late.Reset(f.deadline)
	}
	if f.lines.in.Buffered() == 0 {
		return f.c.out.Flush()
	}
	return nil
}

// lastSeq asks for the last commit that is durable now.
func (c *call) lastSeq() (int64, error) {
	a, err := c.get(c.readURL, "/v1/read/freshness", nil)
	if err != nil {
		return 0, err
	}
	page, err := decodeFreshness(a)
	return page.Freshness.CommitLogSeq, err
}
