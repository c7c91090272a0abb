package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	seenHere   = "commit to readable, read daemon on the same directory, p50"
	seenThere  = "commit to readable, mirror over HTTP, p50"
	sinceReply = ", after the commit's response"
)

// mirrorRow commits one transaction at a time, and waits until a read daemon has
// applied it. In one probe, that daemon is on the same directory. In the other, it
// copies the log over HTTP.
var mirrorRow = row{
	name: "mirror", what: "a commit is readable on the same host, and on another",
	setup: func(b *bench) ([]probe, error) {
		p, err := b.followedWorld(accounts, 1)
		if err != nil {
			return nil, err
		}
		return p.seenTwice()
	},
	goals: []goal{{what: "mirror / same directory", of: ratio(seenThere, seenHere), atMost: true, bound: 2}},
}

// seenTwice returns probes of the read daemon and of one that copies the log.
func (p *pair) seenTwice() ([]probe, error) {
	mirror, err := p.b.start(true, filepath.Join(p.b.bin, "ledger-read"), "-dir", p.dir+"-mirror", "-listen", "127.0.0.1:0", "-name", "mirror", "-from", p.write.url)
	if err != nil {
		return nil, err
	}
	return []probe{p.seen(seenHere, p.read.url), p.seen(seenThere, mirror.url)}, nil
}

// seen measures the time from sending a commit until it is readable, and the time from
// its response until then.
func (p *pair) seen(name, reader string) probe {
	var reply float64
	dice := rand.New(rand.NewPCG(3, 4))
	return probe{
		name: name, unit: "ms",
		more: []derived{{name + sinceReply, "ms", func() float64 { return reply }}},
		measure: func() (float64, error) {
			var whole, rest []float64
			for end := time.Now().Add(p.b.slice); time.Now().Before(end); {
				sent := time.Now()
				var result struct {
					Seq uint64 `json:"global_seq"`
				}
				body := string(appendTransfer(nil, dice, accounts))
				if err := exchange(http.Post(p.write.url+"/v1/commit", "application/json", strings.NewReader(body)))(&result); err != nil {
					return 0, err
				}
				answered := time.Now()
				if err := exchange(http.Get(fmt.Sprintf("%s/v1/read/container/1?min_seq=%d&wait=10s", reader, result.Seq)))(nil); err != nil {
					return 0, err
				}
				whole = append(whole, float64(time.Since(sent))/1e6)
				rest = append(rest, float64(time.Since(answered))/1e6)
			}
			slices.Sort(whole)
			slices.Sort(rest)
			reply = rest[len(rest)/2]
			return whole[len(whole)/2], nil
		},
	}
}

// exchange returns a function that decodes the response to a request. Any
// status but 200 is an error.
func exchange(resp *http.Response, err error) func(into any) error {
	return func(into any) error {
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("%d %.300s", resp.StatusCode, text)
		}
		if err != nil || into == nil {
			return err
		}
		return json.Unmarshal(text, into)
	}
}
