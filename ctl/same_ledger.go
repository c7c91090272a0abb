package ctl

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"assetledger/wal"
)

// sameLedger returns an error if the read daemon, which gave the decimals of an
// amount, is of another ledger than the write daemon. The ids of their logs tell. It
// returns nil if one of them does not show its log.
func (c *call) sameLedger() error {
	read, ok := c.logID(c.readURL)
	if !ok {
		return nil
	}
	if write, ok := c.logID(c.writeURL); ok && write != read {
		return usagef("-write-url %s and -read-url %s are of different ledgers, whose decimals may differ", c.writeURL, c.readURL)
	}
	return nil
}

// logID returns the id of the log that a daemon sends to mirrors.
func (c *call) logID(base string) (id wal.LogID, ok bool) {
	ctx, cancel := context.WithTimeout(c.ctx, min(c.timeout.Duration, 2*time.Second))
	defer cancel()
	from := json.Number("1") // found without a search
	for range 2 {
		a, err := c.api.Do(ctx, request{Method: http.MethodGet, Base: base, Path: "/v1/log", Query: url.Values{"from": {from.String()}}, First: wal.StreamHeaderSize})
		if err != nil {
			return id, false
		}
		if a.Status == http.StatusOK {
			var head wal.StreamHead
			err := head.Parse(a.Body)
			return head.Segment.ID, err == nil
		}
		var archived struct {
			First json.Number `json:"first_seq"`
		}
		if json.Unmarshal(a.Refused().Details, &archived) != nil || archived.First == "" {
			return id, false
		}
		from = archived.First // the older commits are in an archive
	}
	return id, false
}
