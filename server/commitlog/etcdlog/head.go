package etcdlog

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"assetledger/wal"
)

// A head is the value that every append compares with and replaces. No two heads are
// equal: epoch, seq and first never decrease, at least one of them grows each time, and
// the nonce distinguishes two daemons that try the same epoch.
type head struct {
	Epoch  uint64 `json:"epoch"` // incremented by each new writer
	Writer string `json:"writer"`
	Nonce  string `json:"nonce"` // random; chosen when the writer takes over

	Log         string `json:"log"` // id of the log, in hex
	SegmentSize int64  `json:"segment_size"`
	Created     int64  `json:"created"` // Unix nanoseconds; Log to Created: the Origin of the log

	Seq    uint64 `json:"seq"` // Seq to Digest: the Place of the last frame
	Chain  uint32 `json:"chain"`
	Time   int64  `json:"time"`
	Digest uint64 `json:"digest"`
	First  uint64 `json:"first"` // first commit that is still in etcd, or Seq+1
}

func (h *head) encode() []byte {
	b, err := json.Marshal(h)
	if err != nil {
		panic(err) // a head has no values that can't be encoded
	}
	return b
}

func decodeHead(b []byte) (h head, err error) {
	if err := json.Unmarshal(b, &h); err != nil {
		return h, fmt.Errorf("the head of the log in etcd is %q, which this program can't parse: %w", b, err)
	}
	if id, err := hex.DecodeString(h.Log); err != nil || len(id) != len(wal.LogID{}) {
		return h, fmt.Errorf("the head of the log in etcd has the invalid log id %q", h.Log)
	}
	return h, nil
}

func (h *head) origin() wal.Origin {
	o := wal.Origin{SegmentSize: h.SegmentSize, Created: h.Created}
	hex.Decode(o.ID[:], []byte(h.Log))
	return o
}

func (h *head) place() wal.Place {
	return wal.Place{Seq: h.Seq, Chain: h.Chain, Time: h.Time, Digest: h.Digest}
}

// after returns the head that follows h when frame f is appended and the frames
// before commit first are deleted.
func (h head) after(f *wal.Frame, first uint64) head {
	h.Seq, h.Chain, h.Time, h.Digest, h.First = f.Last(), f.Chain, f.Time, f.Digest, first
	return h
}

// Keys below the prefix.
func (d *Driver) headKey() string              { return d.Prefix + "/head" }
func (d *Driver) activeKey() string            { return d.Prefix + "/active" }
func (d *Driver) frameKey(s uint64) string     { return fmt.Sprintf("%s/f/%020d", d.Prefix, s) }
func (d *Driver) framesEnd() string            { return d.Prefix + "/f0" } // '0' follows '/'
func (d *Driver) mirrorKey(name string) string { return d.Prefix + "/mirror/" + name }
func (d *Driver) mirrors() (from, to string) {
	return d.Prefix + "/mirror/", d.Prefix + "/mirror0"
}
