package reader

import (
	"errors"
	"net/http"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/server/metrics"
	"assetledger/server/reader/history"
)

var readFreshness = endpoint{
	pattern: "/v1/read/freshness", reach: reachesAll,
	collect: nothing,
	render: func(r *reading, dst []byte) ([]byte, *ledger.Error) {
		lag := r.end - r.checkpoint
		age := int64(0)
		if lag > 0 {
			t := r.daemon.tail
			age = max(t.now().Sub(t.oldestUnapplied()).Milliseconds(), 0)
		}
		age = max(age, r.daemon.tail.unheard().Milliseconds())
		dst = httpserver.AppendUint(dst, `{"data":{"lag":`, lag)
		dst = httpserver.AppendInt(dst, `,"lag_ms":`, age)
		return append(dst, '}'), nil
	},
	varies: true,
}

// health reports whether reads are reliable, and how many commits they are behind
// the log. An unhealthy daemon responds with 503.
func (d *daemon) health(x *httpserver.Exchange) *ledger.Error {
	if err := new(params).parse(x.R.URL.RawQuery, 0, noList); err != nil {
		return err
	}
	checkpoint := d.proj.fresh.applied.Load()
	end := max(d.tail.durable(), checkpoint)
	status := healthy
	if d.unwell() != "" {
		status = degraded
		x.Status = http.StatusServiceUnavailable
		x.W.Header()["Retry-After"] = httpserver.RetryAfter
	}
	x.Out = append(x.Out, `{"status":"`...)
	x.Out = append(x.Out, status...)
	x.Out = httpserver.AppendUint(x.Out, `","freshness":{"checkpoint_seq":`, checkpoint)
	x.Out = httpserver.AppendUint(x.Out, `,"commit_log_seq":`, end)
	x.Out = httpserver.AppendUint(x.Out, `,"lag":`, end-checkpoint)
	x.Out = d.tail.appendUntil(append(x.Out, '}'))
	if m := d.tail.mirror; m != nil {
		s := m.Status()
		url := s.URL
		if d.api.IsStranger(x) {
			url = ""
		}
		x.Out = ledger.AppendString(append(x.Out, `,"source":{"url":`...), url)
		x.Out = httpserver.AppendUint(x.Out, `,"seq":`, s.Seq)
		x.Out = append(httpserver.AppendInt(x.Out, `,"silence_ms":`, s.Silence.Milliseconds()), '}')
	}
	x.Out = append(appendHistory(x.Out, d.tail.index), '}')
	return nil
}

// appendHistory appends the state of the history index to the health report: how much
// of a missing index has been built, and whether its files can't be maintained. If the index
// is complete and can be maintained, it appends nothing.
func appendHistory(dst []byte, x *history.Index) []byte {
	var making *history.NotReadyError
	var said []byte
	if errors.As(x.Ready(), &making) && making.Of > 0 {
		said = httpserver.AppendUint(said, `,"made_seq":`, making.Done)
		said = httpserver.AppendUint(said, `,"of_seq":`, making.Of)
	}
	if x.Failing() {
		said = append(said, `,"failing":true`...)
	}
	if said == nil {
		return dst
	}
	dst = append(append(dst, `,"history":{`...), said[1:]...)
	return append(dst, '}')
}

func (d *daemon) metrics(x *httpserver.Exchange) *ledger.Error {
	x.W.Header()["Content-Type"] = []string{metrics.ContentType}
	x.Out = d.registry.Append(x.Out)
	return nil
}

// readyz responds with 200 if reads are reliable (see unwell) and the daemon is not
// stopping, and otherwise with 503 and the reason.
func (d *daemon) readyz(x *httpserver.Exchange) *ledger.Error {
	if err := new(params).parse(x.R.URL.RawQuery, 0, noList); err != nil {
		return err
	}
	reason := d.unwell()
	if reason == "" && d.proj.fresh.ended() {
		reason = "This read daemon is stopping."
	}
	x.AnswerReady(reason)
	return nil
}

// unwell returns a message for people that says why reads are not reliable, or "" if
// they are reliable.
func (d *daemon) unwell() string {
	checkpoint := d.proj.fresh.applied.Load()
	switch lag := max(d.tail.durable(), checkpoint) - checkpoint; {
	case d.proj.isBroken() || d.damaged.Load():
		return "The log can't be read: see the log lines of this daemon."
	case d.tail.missing.Load():
		return "The directory of the log does not exist yet: see the log lines of this daemon."
	case d.maxLag > 0 && lag > d.maxLag:
		return "Reads are further behind the log than -max-lag allows."
	}
	return d.cutOff()
}

// heartbeats is the longest normal silence of a mirror's source, which sends a
// heartbeat each second.
const heartbeats = 2 * time.Second

// unheard returns how long the log's source has been silent, or 0 while the silence
// is normal or this daemon is not a mirror.
func (t *tailer) unheard() time.Duration {
	if t.mirror == nil {
		return 0
	}
	if s := t.mirror.Status(); s.Silence > heartbeats {
		return s.Silence
	}
	return 0
}

// cutOff returns a message for people if reads may be arbitrarily out of date,
// because the source of the log has a different history or has been silent for too
// long. Otherwise it returns "".
func (d *daemon) cutOff() string {
	if d.tail.mirror == nil {
		return ""
	}
	switch s := d.tail.mirror.Status(); {
	case s.Foreign:
		return "The source of the log has a different history from this directory: see the log lines of this daemon."
	case d.silence > 0 && s.Silence > d.silence:
		return "Nothing has been heard from the source of the log for longer than -max-silence allows."
	}
	return ""
}
