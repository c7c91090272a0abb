package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"assetledger/wal"
)

// segment is the size of a segment in bytes: the smallest that is permitted, so that
// logs have several segments.
const segment = 64 << 10

// play creates a log of transactions. It sends the last 20 in a batch request, and those
// before them one by one. Some are rejected on purpose. The whole scenario is long enough
// for two checkpoints: one midway and one at the end.
func play(dir string, txs []string) error {
	err := withDaemons(dir, func(write, read string) error {
		last := max(len(txs)-20, 0)
		for _, tx := range txs[:last] {
			if _, err := post(write+"/v1/commit", tx); err != nil {
				return err
			}
		}
		if last == len(txs) {
			return nil
		}
		_, err := post(write+"/v1/commit/batch", `{"transactions":[`+strings.Join(txs[last:], ",")+`]}`)
		return err
	})
	return err
}

// archived creates a log whose first segments are archived.
func archived(dir string, txs []string) error {
	if err := play(dir, txs); err != nil {
		return err
	}
	seqs, err := wal.ListCheckpoints(dir, wal.Options{})
	if err != nil || len(seqs) < 2 {
		return fmt.Errorf("the log has the checkpoints %v, but two are needed (error: %v)", seqs, err)
	}
	report, err := wal.Archive(dir, dir+"-archive", seqs[len(seqs)-2], nil)
	if err == nil && len(report.Moved) == 0 {
		err = errors.New("no segment was archived")
	}
	return err
}

// torn creates a log whose last write was cut short by a power failure: half of another
// frame is beyond the end.
func torn(dir string, txs []string) error {
	if err := play(dir, txs); err != nil {
		return err
	}
	name := filepath.Join(dir, "wal", fmt.Sprintf("%020d.seg", 1))
	end, err := os.ReadFile(filepath.Join(dir, "END"))
	if err != nil {
		return err
	}
	before, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	last := `{"operations":[{"op":"CreateContainer","args":{"container_id":77,"kind":"Standard"}}],"metadata":{"a":"` + strings.Repeat("x", 4000) + `"}}`
	if err := withDaemons(dir, func(write, read string) error {
		_, err := post(write+"/v1/commit", last)
		return err
	}); err != nil {
		return err
	}
	after, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	// Remove all checkpoints, because the newest one includes the commit.
	if err := os.RemoveAll(filepath.Join(dir, "ckpt")); err != nil {
		return err
	}
	first := 0
	for first < len(before) && before[first] == after[first] {
		first++
	}
	const half = 2048
	copy(before[first:first+half], after[first:first+half])
	if bytes.Equal(before, after) {
		return errors.New("the whole frame is there")
	}
	if err := os.WriteFile(name, before, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "END"), end, 0o600)
}

// post sends a request and returns the response. A rejection is not an error.
func post(url, body string) ([]byte, error) {
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode >= 500 {
		return nil, fmt.Errorf("POST %s: %s", url, res.Status)
	}
	return io.ReadAll(res.Body)
}
