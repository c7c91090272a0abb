package logstream

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/wal"
)

// HeaderMirror is the header by which a mirror tells the daemon that it reads
// from who it is: its name, the older of its two checkpoints (0 without), and
// its URL, which may be missing. The commit before from is then what it has synced.
const HeaderMirror = "X-Asset-Mirror"

const (
	maxMirrors   = 256 // that are remembered
	mirrorLeaves = 10 * time.Second
	maxMirrorURL = 512
)

// A Mirror is a copy of the log on another machine that has lately reported.
type Mirror struct {
	Name       string
	Seq        uint64 // up to which its directory is synced
	Checkpoint uint64 // the older of its two checkpoints; 0 without two
	URL        string // where it serves; "": unknown

	heard time.Time
}

// mirrors are those that have lately reported.
type mirrors struct {
	mu    sync.Mutex
	known map[string]Mirror
}

func (m *mirrors) note(one Mirror) {
	m.mu.Lock()
	defer m.mu.Unlock()
	one.heard = time.Now()
	if _, there := m.known[one.Name]; !there && len(m.known) >= maxMirrors {
		m.forget()
		if len(m.known) >= maxMirrors {
			return
		}
	}
	if m.known == nil {
		m.known = map[string]Mirror{}
	}
	m.known[one.Name] = one
}

// forget drops those that have not reported for a while. Call with mu.
func (m *mirrors) forget() {
	maps.DeleteFunc(m.known, func(_ string, one Mirror) bool { return time.Since(one.heard) > mirrorLeaves })
}

// Mirrors lists the mirrors that have reported in the last ten seconds, by name.
func (s *Server) Mirrors() []Mirror {
	s.mirrors.mu.Lock()
	defer s.mirrors.mu.Unlock()
	s.mirrors.forget()
	return slices.SortedFunc(maps.Values(s.mirrors.known), func(a, b Mirror) int { return cmp.Compare(a.Name, b.Name) })
}

// Append is the value of HeaderMirror.
func (m Mirror) Append(dst []byte) []byte {
	dst = strconv.AppendUint(append(append(dst, m.Name...), ' '), m.Checkpoint, 10)
	if m.URL != "" {
		dst = append(append(dst, ' '), m.URL...)
	}
	return dst
}

// parseMirror reads HeaderMirror, which may be absent.
func parseMirror(values []string) (m Mirror, err *ledger.Error) {
	if len(values) == 0 {
		return m, nil
	}
	words := strings.Split(values[0], " ")
	if len(values) == 1 && (len(words) == 2 || len(words) == 3) && wal.CheckReaderName(words[0]) == nil {
		var bad error
		m.Name = words[0]
		if m.Checkpoint, bad = strconv.ParseUint(words[1], 10, 63); bad == nil && len(words) == 3 {
			m.URL = words[2]
			_, bad = url.Parse(m.URL)
		}
		if bad == nil && len(m.URL) <= maxMirrorURL {
			return m, nil
		}
	}
	return m, ledger.Errorf(ledger.InvalidParameter, "The header %s must be a name, a commit and perhaps a URL, with one space between them, and is %q.",
		HeaderMirror, httpserver.Shorten(values[0])).With(ledger.Text("parameter", HeaderMirror))
}
