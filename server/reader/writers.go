package reader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"assetledger/server/httpclient"
)

const (
	askWriter     = 2 * time.Second // timeout of one request to a write daemon
	maxHealth     = 256 << 10       // maximum bytes of one response
	healthy       = "healthy"
	degraded      = "degraded"
	unreachable   = "unreachable"
	notTheLedgers = "What responds at this address is not a write daemon."
)

// writers are the write daemons of -write-url. The read daemon requests their
// health without a token, since everyone may see it.
type writers []*oneWriter

type oneWriter struct {
	url    string // as in the setting
	base   string // prefix of the URLs of requests
	client *http.Client
}

// A writerSeen is the reported status of one write daemon.
type writerSeen struct {
	url    string
	status string // healthy, degraded or unreachable
	reason string // why it is not healthy, for people; "" if it is healthy
	health *writerHealth
}

// A writerHealth is the part of a write daemon's /v1/health that the status shows.
type writerHealth struct {
	Status    string
	Role      string
	CommitLog *struct {
		EndSeq        uint64 `json:"end_seq"`
		CheckpointSeq uint64 `json:"checkpoint_seq"`
		Lag           uint64
		Readers       []readerSeen
		Mirrors       []mirrorSeen
	} `json:"commit_log"`
}

type readerSeen struct {
	Name string
	Seq  uint64 `json:"checkpoint_seq"`
	Lag  uint64
}

type mirrorSeen struct {
	Name string
	Seq  uint64
	Lag  uint64
	URL  string
}

// writeURLs returns the URLs in -write-url. The prefix http:// may be omitted, as
// in ledgerctl, which reads the same list from the environment.
func (c *Config) writeURLs() ([]string, error) {
	if c.WriteURL == "" {
		return nil, nil
	}
	list := strings.Split(c.WriteURL, ",")
	for i, at := range list {
		if at = strings.TrimSpace(at); at != "" && !strings.Contains(at, "://") && !strings.HasPrefix(at, "unix:") {
			list[i] = "http://" + at
		}
	}
	return httpclient.ParseURLs("write-url", strings.Join(list, ","))
}

// newWriters returns clients for the write daemons of -write-url. All its errors
// are of type *httpclient.SettingError.
func newWriters(c *Config) (list writers, err error) {
	urls, err := c.writeURLs()
	if err != nil {
		return nil, httpclient.AsSetting(err)
	}
	for _, at := range urls {
		client, base, err := c.WriteTrust.Client(at, askWriter)
		if err != nil {
			return nil, httpclient.AsSetting(err)
		}
		list = append(list, &oneWriter{at, base, client})
	}
	return list, nil
}

// ask requests the status of all write daemons concurrently.
func (list writers) ask(ctx context.Context) []writerSeen {
	seen := make([]writerSeen, len(list))
	var asked sync.WaitGroup
	for i, w := range list {
		asked.Go(func() { seen[i] = w.ask(ctx) })
	}
	asked.Wait()
	return seen
}

func (w *oneWriter) ask(ctx context.Context) writerSeen {
	seen := writerSeen{url: w.url, status: unreachable}
	var h writerHealth
	if seen.reason = w.get(ctx, "/v1/health", &h); seen.reason != "" {
		return seen
	}
	if h.CommitLog == nil || h.Status != healthy && h.Status != degraded {
		seen.reason = notTheLedgers
		return seen
	}
	seen.status, seen.health = h.Status, &h
	if h.Status == degraded {
		seen.reason = w.why(ctx)
	}
	return seen
}

// why returns the reason for a write daemon's degraded status. /v1/readyz says why
// it doesn't accept commits; other reasons do not affect commits.
func (w *oneWriter) why(ctx context.Context) string {
	var ready struct{ Reason string }
	if w.get(ctx, "/v1/readyz", &ready) != "" || ready.Reason == "" {
		return "It accepts commits, but a read daemon is further behind than -max-lag allows, the log has fewer than two copies on other hosts, or etcd has little room left."
	}
	return ready.Reason
}

// get requests a path and decodes the JSON response into the given value. It
// returns "" or, if there is no valid response, the reason. An unhealthy daemon
// responds with 503, and that response is valid too.
func (w *oneWriter) get(ctx context.Context, path string, into any) (failed string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.base+path, nil)
	if err != nil {
		return notTheLedgers
	}
	answer, err := w.client.Do(r)
	if err != nil {
		return noResponse(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxHealth+1))
	if err != nil {
		return noResponse(err)
	}
	ours := answer.StatusCode == http.StatusOK || answer.StatusCode == http.StatusServiceUnavailable
	if !ours || len(text) > maxHealth || json.Unmarshal(text, into) != nil {
		return notTheLedgers
	}
	return ""
}

// noResponse describes in a few words why there was no response.
func noResponse(err error) string {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return fmt.Sprintf("No response within %v.", askWriter)
	}
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	return fmt.Sprintf("No response: %v.", err)
}
