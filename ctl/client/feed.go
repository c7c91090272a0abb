package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Commit is one commit of the feed.
type Commit struct {
	GlobalSeq int64
	JSON      json.RawMessage // the whole commit; valid until the next one is yielded
	More      bool            // some bytes of the next one have already arrived
}

// A Cursor stores the position of a feed. FileCursor stores it in a file. You can also store it in the database that the
// feed fills.
type Cursor interface {
	Load() (globalSeq int64, err error) // 0 at the beginning
	Save(globalSeq int64) error         // durable when it returns
}

// FeedOptions configures a feed. The zero value begins with the first commit.
type FeedOptions struct {
	Base   string        // base URLs; "": those of the client's read daemons
	After  int64         // begin after this commit, or after that of the cursor if it is later
	Cursor Cursor        // stores the position; may be nil
	Within time.Duration // a connection counts as lost after this time without a commit; 0: no such limit
	// Lost is called when a connection has failed or ended. An address that can't be reached is skipped without a call
	// while there is another one to try. since is the time since the first of the consecutive failures. connected reports
	// whether the feed has ever been connected. An error that Lost returns ends the feed. Otherwise the feed tries to
	// connect forever.
	Lost func(err error, since time.Duration, connected bool) error
}

const (
	feedSilence = 45 * time.Second // maximum time without a byte; the daemon sends a comment every 15 s
	feedLasted  = 15 * time.Second // connections to a healthy daemon last at least this long
)

// Feed yields every commit after the position in o, in order, until ctx is done. It replaces lost connections. If there is
// an error, it is yielded last. A commit counts as processed when the caller asks for the next one. After a crash, a feed
// with a Cursor repeats the commit that was being processed. So process commits idempotently, for example by their
// GlobalSeq.
func (c *Client) Feed(ctx context.Context, o FeedOptions) iter.Seq2[Commit, error] {
	return func(yield func(Commit, error) bool) {
		if o.Base == "" {
			o.Base = c.o.Read
		}
		f := &feed{c: c, o: o, yield: yield}
		if err := f.run(ctx); err != errStopped {
			yield(Commit{}, err)
		}
	}
}

// A feed is one call to Feed. It receives server-sent events (HTML standard, section 9.2):
//
//	connect → event, event, … → lost → connect again after the last event → …
type feed struct {
	c         *Client
	o         FeedOptions
	last      int64 // the last processed commit
	connected bool
	moved     bool    // a commit was processed on the last connection or, if Within is 0, that connection lasted for feedLasted
	answer    *Answer // rejection of the last connection; nil: it was not rejected
	yield     func(Commit, error) bool
}

func (f *feed) run(ctx context.Context) error {
	if f.o.Cursor != nil {
		seq, err := f.o.Cursor.Load()
		if err != nil {
			return err
		}
		f.o.After = max(f.o.After, seq)
	}
	f.last = f.o.After
	var lostAt time.Time
	passed := 0 // number of addresses in a row that were skipped
	for i := 1; ; i++ {
		f.moved, f.answer = false, nil
		err := f.connection(ctx)
		if ctx.Err() != nil && err != errStopped {
			return ctx.Err()
		}
		silent, lost := errors.AsType[*NoAnswer](err)
		if !lost {
			return err
		}
		if passed++; silent.NeverSent() && passed <= strings.Count(f.o.Base, ",") {
			i--
			continue
		}
		passed = 0
		if lostAt.IsZero() || f.moved {
			lostAt, i = time.Now(), 1
		}
		if f.o.Lost != nil {
			since := time.Duration(0)
			if i > 1 {
				since = time.Since(lostAt)
			}
			if err := f.o.Lost(err, since, f.connected); err != nil {
				return err
			}
		}
		if err := f.c.pause(ctx, Backoff(i, f.answer)); err != nil {
			return err
		}
	}
}

// connection receives commits over one connection. If it can't be made, breaks, ends, or is rejected with a status of 500 or
// more, the error is a *NoAnswer.
func (f *feed) connection(ctx context.Context) (err error) {
	const path = "/v1/read/commits"
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	address := f.c.address(f.o.Base)
	defer func() {
		if _, lost := errors.AsType[*NoAnswer](err); lost {
			f.c.turn(f.o.Base, address)
		}
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, OverHTTP(address)+path+"?after="+strconv.FormatInt(f.o.After, 10), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	if f.last > f.o.After {
		req.Header.Set("Last-Event-ID", strconv.FormatInt(f.last, 10))
	}
	begin := time.Now()
	defer func() { f.moved = f.moved || f.o.Within == 0 && time.Since(begin) >= feedLasted }()
	silence := time.AfterFunc(feedSilence, cancel)
	defer silence.Stop()
	late := time.AfterFunc(feedSilence, cancel)
	defer late.Stop()
	f.expect(late)
	resp, err := f.c.send(address, req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		a, err := f.c.readAnswer(resp, address, path)
		if err != nil {
			return err
		}
		if f.answer = a; a.Status >= http.StatusInternalServerError {
			return &NoAnswer{address, a.Err()} // it is stopping or has too many streams: try again
		}
		return decided(a.Refused())
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/event-stream" {
		return decided(&Refused{Status: resp.StatusCode, URL: address + path})
	}
	f.connected = true
	return f.events(address, resp.Body, silence, late)
}

// expect restarts the timer for the next commit.
func (f *feed) expect(late *time.Timer) {
	if late.Stop(); f.o.Within > 0 {
		late.Reset(f.o.Within)
	}
}

// events reads the events of a connection and yields their commits.
func (f *feed) events(address string, body io.Reader, silence, late *time.Timer) error {
	limited := &io.LimitedReader{R: body, N: f.c.most}
	in := bufio.NewReaderSize(limited, 64<<10)
	var event []byte
	for {
		line, err := in.ReadSlice('\n')
		silence.Reset(feedSilence)
		for errors.Is(err, bufio.ErrBufferFull) {
			long := bytes.Clone(line)
			line, err = in.ReadBytes('\n')
			line = append(long, line...)
		}
		switch {
		case err != nil && limited.N <= 0:
			return fmt.Errorf("an event from %s is larger than %d bytes", address, f.c.most)
		case err != nil:
			return &NoAnswer{address, err}
		}
		line = bytes.TrimRight(line, "\r\n")
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			event = append(event, bytes.TrimPrefix(data, []byte(" "))...)
			continue
		}
		if len(line) > 0 || len(event) == 0 {
			continue // a comment, or the id, which the data also has
		}
		if err := f.event(address, event, in.Buffered() > 0); err != nil {
			return err
		}
		f.expect(late)
		event, limited.N = event[:0], f.c.most
	}
}

// event yields one commit, and saves the position after the commit was processed.
func (f *feed) event(address string, data []byte, more bool) error {
	var commit struct {
		GlobalSeq int64 `json:"global_seq"`
	}
	if err := json.Unmarshal(data, &commit); err != nil || commit.GlobalSeq <= f.last {
		return fmt.Errorf("an event from %s is not a commit after %d", address, f.last)
	}
	if !f.yield(Commit{commit.GlobalSeq, data, more}, nil) {
		return errStopped
	}
	f.last, f.moved = commit.GlobalSeq, true
	if f.o.Cursor != nil {
		return f.o.Cursor.Save(f.last)
	}
	return nil
}

// A FileCursor is the name of a file that stores the position. The file is replaced atomically.
type FileCursor string

// Load reads the file. It returns 0 if there is none.
func (f FileCursor) Load() (int64, error) {
	text, err := os.ReadFile(string(f))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}

// Save replaces the file.
func (f FileCursor) Save(globalSeq int64) error {
	return ReplaceFile(string(f), strconv.AppendInt(nil, globalSeq, 10))
}

// ReplaceFile atomically replaces the contents of a file with one line, and syncs the file and its folder.
func ReplaceFile(name string, line []byte) error {
	file, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // in case of an error
	_, err = file.Write(append(line, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), name); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
