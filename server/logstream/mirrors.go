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

// HeaderMirror is the request header with which a mirror reports itself to the
// daemon that it reads from. Its value is the mirror's name, the older of its
// two checkpoints (0 if it has fewer), and optionally its URL, separated by
// single spaces. A request with this header also reports that the mirror has
// synced all commits before the one in the query parameter "from".
const HeaderMirror = "X-Asset-Mirror"

const (
	maxMirrors   = 256 // remembered at a time
	mirrorLeaves = 10 * time.Second
	maxMirrorURL = 512
)

// A Mirror describes a copy of the log, on another machine, that has reported recently.
type Mirror struct {
	Name       string
	Seq        uint64 // last commit that is synced in its directory
	Checkpoint uint64 // the older of its two checkpoints; 0 if it has fewer
	URL        string // its base URL; "": unknown

	heard time.Time
}

// mirrors holds the mirrors that have reported recently.
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

// forget drops the mirrors that have not reported for mirrorLeaves. mu must be
// held.
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

// Append appends the value of HeaderMirror to dst.
func (m Mirror) Append(dst []byte) []byte {
	dst = strconv.AppendUint(append(append(dst, m.Name...), ' '), m.Checkpoint, 10)
	if m.URL != "" {
		dst = append(append(dst, ' '), m.URL...)
	}
	return dst
}

// parseMirror parses HeaderMirror. If the header is absent, m has no name.
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
	return m, ledger.Errorf(ledger.InvalidParameter, "The header %s must be a name, a commit and optionally a URL, separated by single spaces, not %q.",
		HeaderMirror, httpserver.Shorten(values[0])).With(ledger.Text("parameter", HeaderMirror))
}
