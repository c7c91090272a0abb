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

// health reports whether reads can be relied on, and how far they are behind.
func (d *daemon) health(x *httpserver.Exchange) *ledger.Error {
	if err := new(params).parse(x.R.URL.RawQuery, 0, noList); err != nil {
		return err
	}
	checkpoint := d.proj.fresh.applied.Load()
	end := max(d.tail.durable(), checkpoint)
	status := "healthy"
	if d.proj.isBroken() || d.damaged.Load() || d.tail.missing.Load() || d.maxLag > 0 && end-checkpoint > d.maxLag || d.cutOff() != "" {
		status = "degraded"
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
	var making *history.NotReadyError
	if errors.As(d.tail.index.Ready(), &making) && making.Of > 0 {
		x.Out = httpserver.AppendUint(x.Out, `,"history":{"made_seq":`, making.Done)
		x.Out = httpserver.AppendUint(x.Out, `,"of_seq":`, making.Of)
		x.Out = append(x.Out, '}')
	}
	x.Out = append(x.Out, '}')
	return nil
}

func (d *daemon) metrics(x *httpserver.Exchange) *ledger.Error {
	x.W.Header()["Content-Type"] = []string{metrics.ContentType}
	x.Out = d.registry.Append(x.Out)
	return nil
}

// readyz: reads are answered, and not from further back than -max-lag.
func (d *daemon) readyz(x *httpserver.Exchange) *ledger.Error {
	if err := new(params).parse(x.R.URL.RawQuery, 0, noList); err != nil {
		return err
	}
	reason := ""
	checkpoint := d.proj.fresh.applied.Load()
	switch lag := max(d.tail.durable(), checkpoint) - checkpoint; {
	case d.proj.isBroken() || d.damaged.Load():
		reason = "The log can't be read: see the log lines of this daemon."
	case d.tail.missing.Load():
		reason = "The directory of the log does not exist yet: see the log lines of this daemon."
	case d.proj.fresh.ended():
		reason = "This read daemon is stopping."
	case d.maxLag > 0 && lag > d.maxLag:
		reason = "Reads are further behind the log than -max-lag allows."
	default:
		reason = d.cutOff()
	}
	x.AnswerReady(reason)
	return nil
}

// heartbeats is the silence of a source, in which one beats each second, that
// says nothing.
const heartbeats = 2 * time.Second

// unheard is how long nothing was heard of the log's source, 0 while all is well.
func (t *tailer) unheard() time.Duration {
	if t.mirror == nil {
		return 0
	}
	if s := t.mirror.Status(); s.Silence > heartbeats {
		return s.Silence
	}
	return 0
}

// cutOff is why what is served may be of any age, "" if it is not.
func (d *daemon) cutOff() string {
	if d.tail.mirror == nil {
		return ""
	}
	switch s := d.tail.mirror.Status(); {
	case s.Foreign:
		return "The source of the log has another history than this directory: see the log lines of this daemon."
	case d.silence > 0 && s.Silence > d.silence:
		return "Nothing was heard of the source of the log for longer than -max-silence allows."
	}
	return ""
}
