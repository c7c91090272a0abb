package wal

import "errors"

// SegmentStat has the statistics of one segment.
type SegmentStat struct {
	SegmentInfo
	Used      int64  // bytes of headers and frames
	Frames    uint64 // number of data frames
	Commits   uint64
	Last      uint64 // last global_seq; First-1 if there is none
	FirstTime int64  // commit times of the first and last data frames, in Unix nanoseconds; 0 if there are none
	LastTime  int64
	Sealed    bool
}

// Stat summarizes a log from its frame headers, without reading bodies.
func Stat(dir string, fsys FS) (list []SegmentStat, report VerifyReport, err error) {
	for range listTries {
		if list, report, err = statOnce(dir, fsys); !errors.Is(err, ErrArchiving) {
			break
		}
	}
	return list, report, err
}

func statOnce(dir string, fsys FS) ([]SegmentStat, VerifyReport, error) {
	var list []SegmentStat
	report, err := Verify(dir, VerifyOptions{
		FS: fsys, HeadersOnly: true,
		OnSegment: func(s *SegmentInfo) error {
			list = append(list, SegmentStat{SegmentInfo: *s, Used: segmentHeaderSize, Last: s.First - 1})
			return nil
		},
		OnFrame: func(f *FrameInfo) error {
			s := &list[len(list)-1]
			s.Used += f.Size
			if f.Seal {
				s.Sealed = true
				return nil
			}
			if s.Frames == 0 {
				s.FirstTime = f.Frame.Time
			}
			s.LastTime = f.Frame.Time
			s.Frames++
			s.Commits += uint64(f.Frame.Count)
			s.Last = f.Frame.Last()
			return nil
		},
	})
	return list, report, err
}
