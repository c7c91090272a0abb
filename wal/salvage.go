package wal

import (
	"errors"
	"hash/crc32"
)

// Salvage searches beyond damage. It searches all segments of DIR for frames that
// contain commits after the given one, and whose own CRCs are valid. It calls show
// with each of them, ordered by segment and offset. Nothing proves that they are in
// sequence or complete. They show operators what a repair loses.
func Salvage(dir string, after uint64, o Options, show func(*Frame) error) error {
	fsys := o.withDefaults().FS
	firsts, err := listSeqs(fsys, segmentsPath(dir), segmentExt)
	if err != nil {
		return err
	}
	id, err := anyLogID(fsys, dir, firsts)
	if err != nil {
		return err
	}
	for _, first := range firsts {
		if err := salvageSegment(fsys, join(segmentsPath(dir), segmentName(first)), segmentSalt(id, first), after, show); err != nil {
			return err
		}
	}
	return nil
}

var errNoHeader = errors.New("wal: no segment has a good header")

// anyLogID returns the log id in the first valid header.
func anyLogID(fsys FS, dir string, firsts []uint64) (LogID, error) {
	for _, first := range firsts {
		if h, err := checkSegment(fsys, join(segmentsPath(dir), segmentName(first)), first); err == nil {
			return h.ID, nil
		}
	}
	return LogID{}, errNoHeader
}

func salvageSegment(fsys FS, path string, salt uint32, after uint64, show func(*Frame) error) error {
	f, err := fsys.Open(path, false)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	var sector [frameAlign]byte
	var h frameHeader
	for off := int64(segmentHeaderSize); off+frameAlign <= size; {
		step := int64(frameAlign)
		if readFull(f, sector[:], off) == nil && h.Unmarshal(sector[:], salt) && h.Validate(sector[:frameHeaderSize]) == nil &&
			h.Kind == kindData && h.last() > after && h.size() <= size-off {
			if frame, ok := salvageFrame(f, &h, off, salt); ok {
				if err := show(frame); err != nil {
					return err
				}
				step = h.size()
			}
		}
		off += step
	}
	return nil
}

// salvageFrame reads a body, and reports whether its CRC is right.
func salvageFrame(f File, h *frameHeader, off int64, salt uint32) (*Frame, bool) {
	body := make([]byte, h.BodyLen)
	if readFull(f, body, off+frameHeaderSize) != nil || crc32.Update(salt, castagnoli, body) != h.BodyCRC ||
		checkRecords(body, h.Count) != nil {
		return nil, false
	}
	return &Frame{First: h.First, Count: h.Count, Time: h.Time, Digest: h.Digest, Chain: h.CRC, Body: body}, true
}
