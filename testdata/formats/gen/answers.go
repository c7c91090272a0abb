package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"assetledger/server"
	"assetledger/server/httpserver"
	"assetledger/server/reader"
	"assetledger/server/writer"
	"assetledger/wal"
)

// ask runs both daemons on a log. It returns the digests of the states that the log
// records, and the responses to reads of everything in it.
func ask(dir string) ([]byte, error) {
	var out bytes.Buffer
	err := withDaemons(dir, func(write, read string) error {
		c := &crawl{base: read, out: &out}
		c.all()
		return c.err
	})
	if err != nil {
		return nil, err
	}
	var digests bytes.Buffer
	_, err = wal.Verify(dir, wal.VerifyOptions{OnFrame: func(f *wal.FrameInfo) error {
		if f.Frame.Count > 0 {
			fmt.Fprintf(&digests, "digest %d %016x\n", f.Frame.Last(), f.Frame.Digest)
		}
		return nil
	}})
	return append(digests.Bytes(), out.Bytes()...), err
}

// withDaemons starts a write daemon and a read daemon, calls the function do, and then
// stops the daemons.
func withDaemons(dir string, do func(write, read string) error) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	w := writer.DefaultConfig()
	w.Dir, w.Listen, w.SegmentSize, w.Log = dir, "127.0.0.1:0", segment, log
	writeURL, writeEnd, err := start(func(ready io.Writer) error { w.Ready = ready; return server.RunWrite(ctx, w) })
	if err != nil {
		return err
	}
	r := reader.Config{Dir: dir, Listen: "127.0.0.1:0", Name: "gen", CheckpointEvery: 130, IdempotencyKeys: w.IdempotencyKeys, Poll: 10 * time.Millisecond,
		Timeouts: httpserver.DefaultTimeouts, Log: log}
	readURL, readEnd, err := start(func(ready io.Writer) error { r.Ready = ready; return server.RunRead(ctx, r) })
	if err != nil {
		stop()
		return errors.Join(err, <-writeEnd)
	}
	err = do(writeURL, readURL)
	if err == nil {
		err = caughtUp(writeURL, readURL)
	}
	stop()
	return errors.Join(err, <-readEnd, <-writeEnd)
}

type readyLine chan string

func (r readyLine) Write(p []byte) (int, error) {
	_, url, _ := strings.Cut(strings.TrimSpace(string(p)), " ready on ")
	url, _, _ = strings.Cut(url, " ")
	r <- url
	return len(p), nil
}

func start(run func(ready io.Writer) error) (url string, ended <-chan error, err error) {
	ready, end := make(readyLine, 1), make(chan error, 1)
	go func() { end <- run(ready) }()
	select {
	case url := <-ready:
		return url, end, nil
	case err := <-end:
		return "", nil, fmt.Errorf("a daemon ended before it was ready: %w", err)
	}
}

// caughtUp waits until the read daemon shows all commits.
func caughtUp(write, read string) error {
	var health struct {
		CommitLog struct {
			EndSeq uint64 `json:"end_seq"`
		} `json:"commit_log"`
	}
	body, err := get(write + "/v1/health")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, &health); err != nil {
		return err
	}
	body, err = get(fmt.Sprintf("%s/v1/read/freshness?wait=30s&min_seq=%d", read, health.CommitLog.EndSeq))
	if err == nil && bytes.Contains(body, []byte(`"error"`)) {
		err = fmt.Errorf("the read daemon did not catch up: %s", body)
	}
	return err
}

func get(url string) ([]byte, error) {
	res, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}

// A crawl reads everything that a ledger has, and keeps the first error.
type crawl struct {
	base string
	out  *bytes.Buffer
	err  error
}

// ask records a query and its response, and decodes the response.
func (c *crawl) ask(into any, format string, args ...any) {
	path := fmt.Sprintf(format, args...)
	body, err := get(c.base + path)
	if err == nil && into != nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("%s: %w", path, err)
	}
	fmt.Fprintf(c.out, "GET %s\n%s\n", path, body)
}

func (c *crawl) all() {
	var containers struct {
		Data struct {
			Containers []struct {
				ID         int64 `json:"container_id"`
				Name, Kind string
			}
		}
	}
	c.ask(&containers, "/v1/read/containers?limit=10000")
	for _, x := range containers.Data.Containers {
		c.ask(nil, "/v1/read/container/%d", x.ID)
		part := map[string]string{"Standard": "balances", "Slots": "slots", "Grid": "grid"}[x.Kind]
		c.ask(nil, "/v1/read/container/%d/%s", x.ID, part)
		if x.Name != "" {
			c.ask(nil, "/v1/read/container/%s", url.PathEscape(x.Name))
			c.ask(nil, "/v1/read/container/%d/holds", x.ID)
		}
	}
	var classes struct {
		Data struct {
			Classes []struct {
				ID   int64 `json:"class_id"`
				Code string
			}
		}
	}
	c.ask(&classes, "/v1/read/classes?limit=10000")
	instances := int64(0)
	for _, x := range classes.Data.Classes {
		var stats struct {
			Data struct {
				Minted int64 `json:"instances_minted"`
			}
		}
		c.ask(nil, "/v1/read/class/%d", x.ID)
		c.ask(nil, "/v1/read/class/%d/shapes", x.ID)
		c.ask(&stats, "/v1/read/class/%d/stats", x.ID)
		instances += stats.Data.Minted
		if x.Code != "" {
			c.ask(nil, "/v1/read/class/%s", url.PathEscape(x.Code))
		}
	}
	for id := range instances {
		c.ask(nil, "/v1/read/instance/%d", id+1)
	}
	var fresh struct {
		Freshness struct {
			Seq uint64 `json:"checkpoint_seq"`
		}
	}
	c.ask(&fresh, "/v1/read/freshness")
	for seq := range fresh.Freshness.Seq {
		c.ask(nil, "/v1/read/commit/%d", seq+1)
	}
}
