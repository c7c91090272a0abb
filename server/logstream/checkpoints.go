package logstream

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/wal"
)

// list responds with the checkpoints, oldest first.
func (s *Server) list(x *httpserver.Exchange) *ledger.Error {
	if err := everything(x); err != nil {
		return err
	}
	if x.R.URL.RawQuery != "" {
		return wrongParameter(x.R.URL.RawQuery, "This path has no query parameters.")
	}
	seqs, err := wal.ListCheckpoints(s.file.Dir, s.file.Opt)
	if err != nil {
		return s.refusal(0, err)
	}
	x.Out = append(x.Out, `{"checkpoints":[`...)
	n := 0
	for _, seq := range seqs {
		f, err := wal.OpenCheckpointFile(s.file.Dir, seq, s.file.Opt)
		if err != nil { // removed in the meantime
			continue
		}
		size, err := f.Size()
		f.Close()
		if err != nil {
			return s.refusal(seq, err)
		}
		if n++; n > 1 {
			x.Out = append(x.Out, ',')
		}
		x.Out = httpserver.AppendUint(x.Out, `{"seq":`, seq)
		x.Out = append(httpserver.AppendInt(x.Out, `,"bytes":`, size), '}')
	}
	x.Out = append(x.Out, `]}`...)
	return nil
}

// checkpoint responds with the bytes of a checkpoint, or with a range of them.
func (s *Server) checkpoint(x *httpserver.Exchange) *ledger.Error {
	if err := everything(x); err != nil {
		return err
	}
	if x.R.URL.RawQuery != "" {
		return wrongParameter(x.R.URL.RawQuery, "This path has no query parameters.")
	}
	seq, ok := parseSeq(x.R.PathValue("seq"))
	if !ok {
		return wrongParameter("seq", "The checkpoint's number in the path must be an integer from 1 to 9223372036854775807, not %q.", httpserver.Shorten(x.R.PathValue("seq")))
	}
	f, err := wal.OpenCheckpointFile(s.file.Dir, seq, s.file.Opt)
	if errors.Is(err, fs.ErrNotExist) {
		return ledger.Errorf(ledger.NotFound, "There is no checkpoint at commit %d, or it was deleted; %s lists those that exist.", seq, CheckpointsPattern).
			With(ledger.Text("path", x.R.URL.Path))
	}
	if err != nil {
		return s.refusal(seq, err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return s.refusal(seq, err)
	}
	from, to, part := parseRange(x.R.Header, size)
	h := x.W.Header()
	h["Accept-Ranges"] = []string{"bytes"}
	x.SetSeq(seq)
	if part && from >= size {
		h["Content-Range"] = []string{fmt.Sprintf("bytes */%d", size)}
		return ledger.Errorf(ledger.RangeNotSatisfiable, "The range has no byte of the checkpoint, which has %d bytes.", size).
			With(ledger.Num("bytes", size))
	}
	if part {
		x.Status = http.StatusPartialContent
		h["Content-Range"] = []string{fmt.Sprintf("bytes %d-%d/%d", from, to-1, size)}
	}
	h["Content-Type"] = []string{"application/octet-stream"}
	h["Content-Length"] = []string{strconv.FormatInt(to-from, 10)}
	x.Written, x.Streamed = true, true
	x.W.WriteHeader(x.Status)
	if x.R.Method != http.MethodHead {
		s.send(x, f, from, to)
	}
	return nil
}

// send sends the bytes [from,to) of a file. It counts as a stream.
func (s *Server) send(x *httpserver.Exchange, f wal.File, from, to int64) {
	c := http.NewResponseController(x.W)
	defer s.streams.Leave(s.streams.Enter(x.Client(), func() { c.SetWriteDeadline(httpserver.LongAgo) }))
	if !x.Claim.Grow(piece) {
		return
	}
	x.Claim.Awaits(func() { c.SetWriteDeadline(httpserver.LongAgo) })
	defer x.Claim.Ready()
	c.SetReadDeadline(time.Time{})
	buf := make([]byte, min(piece, to-from))
	for from < to && s.ctx.Err() == nil {
		b := buf[:min(piece, to-from)]
		if n, err := f.ReadAt(b, from); n < len(b) {
			s.log.Error("a checkpoint that another machine requested can't be read", "offset", from, "error", err)
			panic(http.ErrAbortHandler) // an incomplete response must not look complete
		}
		c.SetWriteDeadline(time.Now().Add(s.patience))
		n, err := x.W.Write(b)
		x.Claim.Progress(n)
		if err != nil {
			return
		}
		from += int64(len(b))
	}
}

// parseRange returns the range of bytes that the header Range asks for. If the
// header is missing or malformed, has several ranges, or depends on a validator, the
// result part is false and the whole file is meant, as RFC 9110 allows.
func parseRange(h http.Header, size int64) (from, to int64, part bool) {
	values := h["Range"]
	if len(values) != 1 || h["If-Range"] != nil {
		return 0, size, false
	}
	text, ok := strings.CutPrefix(values[0], "bytes=")
	first, last, dash := strings.Cut(text, "-")
	if !ok || !dash {
		return 0, size, false
	}
	if first == "" { // a suffix: the last bytes
		n, err := strconv.ParseUint(last, 10, 63)
		if err != nil {
			return 0, size, false
		}
		return max(size-int64(n), 0), size, true
	}
	a, err := strconv.ParseUint(first, 10, 63)
	if err != nil {
		return 0, size, false
	}
	if last == "" {
		return int64(a), size, true
	}
	b, err := strconv.ParseUint(last, 10, 63)
	if err != nil || b < a {
		return 0, size, false
	}
	return int64(a), min(int64(b), size-1) + 1, true
}
