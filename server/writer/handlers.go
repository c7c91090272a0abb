package writer

import (
	"errors"
	"strconv"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/wal"
)

// routes returns the write daemon's table.
func (d *daemon) routes() []httpserver.Route {
	return append([]httpserver.Route{
		{Method: "POST", Pattern: "/v1/commit", Handle: d.writes(typeJSON, d.commit)},
		{Method: "POST", Pattern: "/v1/commit/batch", Handle: d.writes(typeJSON, d.batch)},
		{Method: "POST", Pattern: streamPattern, Handle: d.lingers(d.writes("application/x-ndjson", d.stream))},
		{Method: "POST", Pattern: "/v1/commit/preflight", Handle: d.accepts(typeJSON, d.preflight)},
		{Method: "POST", Pattern: "/v1/commit/{global_seq}/reverse", Handle: d.writes(typeJSON, d.reverse)},
		{Method: "POST", Pattern: "/v1/register/class", Handle: d.writes(typeJSON, d.registration(ledger.EndpointRegisterClass))},
		{Method: "POST", Pattern: "/v1/register/class-shape", Handle: d.writes(typeJSON, d.registration(ledger.EndpointRegisterShape))},
		{Method: "GET", Pattern: "/v1/health", Handle: d.health},
		{Method: "GET", Pattern: "/v1/livez", Handle: httpserver.Livez},
		{Method: "GET", Pattern: "/v1/readyz", Handle: d.readyz},
		{Method: "GET", Pattern: "/v1/metrics", Handle: d.metrics},
		{Method: "GET", Pattern: "/v1/openapi.json", Handle: describe},
	}, d.mirroring.Routes()...)
}

// writes is accepts, and counts rejections.
func (d *daemon) writes(media string, handle httpserver.Handler) httpserver.Handler {
	handle = d.accepts(media, handle)
	return func(x *httpserver.Exchange) *ledger.Error {
		err := handle(x)
		if err != nil {
			d.meters.rejected(err.Code)
		}
		return err
	}
}

const typeJSON = "application/json"

// accepts rejects requests while the daemon is stopping, and requests of another
// media type. Any other request is answered, even while stopping.
func (d *daemon) accepts(media string, handle httpserver.Handler) httpserver.Handler {
	return func(x *httpserver.Exchange) *ledger.Error {
		if err := d.ending(); err != nil {
			x.W.Header()["Connection"] = []string{"close"}
			return err
		}
		d.inflight.Add(1)
		defer d.inflight.Add(-1)
		if err := x.RequireType(media); err != nil {
			return err
		}
		return handle(x)
	}
}

// read reads the body within the limit and the budget, and charges the memory of
// its parsed form.
func (d *daemon) read(x *httpserver.Exchange, limit int64) *ledger.Error {
	if err := x.ReadBody(limit); err != nil {
		return err
	}
	if len(x.Body) <= httpserver.TinyClaim {
		return nil
	}
	return x.Charge(max(ledger.ParsedSize(x.Body), answerSize(x.Body)))
}

// refusalSize is the size of a rejection in the response to a batch request, in
// bytes, without the parts that it repeats of the request.
const refusalSize = 512

// answerSize estimates the largest response to a body: results repeat its
// metadata, and each of its transactions, at least 16 bytes, may be rejected.
func answerSize(body []byte) int64 {
	n := int64(len(body))
	return n + refusalSize*min(n/16, ledger.MaxBatch)
}

// settle makes the sequencer judge r, and returns when its verdicts may be sent.
func (d *daemon) settle(r *request) *ledger.Error {
	r.judged()
	start := time.Now()
	g, err := d.seq().intake.submit(r)
	if err != nil {
		return err
	}
	<-g.done
	if g.err != nil {
		return g.err
	}
	d.readBack(r)
	d.count(r, time.Since(start))
	return nil
}

// readBack completes replayed results whose metadata is long. A retry nearly
// always spells it as the first request did; otherwise it is read from the log.
func (d *daemon) readBack(r *request) {
	for i := range r.verdicts {
		v, tx := &r.verdicts[i], &r.Txs[i]
		if !v.long || r.preflight || ledger.SpellingOf(tx.Metadata) == v.spelling {
			continue
		}
		err := d.log().Commit(v.seq, func(rec *ledger.Record) { tx.Metadata = r.keep(rec.Tx.Metadata) })
		if err != nil {
			d.api.Log.Error("the first result of an idempotency key can't be read back from the log", "seq", v.seq, "error", err)
			v.err = unreadableResult(v.seq, err)
		}
	}
}

// unreadableResult returns the error for a retry whose first result can't be read.
func unreadableResult(seq uint64, err error) *ledger.Error {
	if archived := new(wal.ArchivedError); errors.As(err, &archived) {
		return ledger.Errorf(ledger.CommitArchived, "The request was carried out before, as commit %d. Its metadata was spelled otherwise, and the commit was moved to an archive.", seq).
			With(ledger.Num("global_seq", int64(seq)), ledger.Num("first_seq", int64(archived.First)))
	}
	return ledger.Errorf(ledger.LogUnavailable, "The request was carried out before, as commit %d, which can't be read back from the log now.", seq).
		With(ledger.Num("global_seq", int64(seq)))
}

// count counts the outcomes of the transactions of r.
func (d *daemon) count(r *request, took time.Duration) {
	var commits, hits uint64
	for i := range r.verdicts {
		switch v := &r.verdicts[i]; {
		case r.preflight:
		case v.err != nil && r.bulk: // others are counted with their response
			d.meters.rejected(v.err.Code)
		case v.err != nil:
		case v.replayed:
			hits++
		default:
			commits++
		}
	}
	if commits != 0 {
		d.meters.commitDuration.ObserveN(int64(took), commits)
	}
	if hits != 0 {
		d.meters.hits.Add(hits)
	}
}

const (
	headerKey = "X-Idempotency-Key"
	headerHit = "X-Asset-Idempotency"
)

var valueHit = []string{"hit"}

func setSeq(x *httpserver.Exchange, seq uint64) {
	x.W.Header()[httpserver.HeaderSeq] = []string{strconv.FormatUint(seq, 10)}
}

func (d *daemon) commit(x *httpserver.Exchange) *ledger.Error {
	return d.one(x, func(body []byte, tx *ledger.Transaction) *ledger.Error {
		return ledger.ParseTransaction(body, tx, d.parsing)
	})
}

func (d *daemon) registration(e ledger.Endpoint) httpserver.Handler {
	return func(x *httpserver.Exchange) *ledger.Error {
		return d.one(x, func(body []byte, tx *ledger.Transaction) *ledger.Error {
			return ledger.ParseRegistration(body, e, tx, d.parsing)
		})
	}
}

// one serves a request of one transaction.
func (d *daemon) one(x *httpserver.Exchange, parse func([]byte, *ledger.Transaction) *ledger.Error) *ledger.Error {
	r := singles.Get().(*request)
	defer func() { r.release(d.budget.Crowded()) }()
	return d.oneOf(x, r, parse)
}

// oneOf is one with the caller's request.
func (d *daemon) oneOf(x *httpserver.Exchange, r *request, parse func([]byte, *ledger.Transaction) *ledger.Error) *ledger.Error {
	tx, v, err := d.judgeOne(x, r, parse)
	if err != nil {
		return err
	}
	if v.replayed {
		x.W.Header()[headerHit] = valueHit
	}
	setSeq(x, v.seq)
	x.Out = ledger.AppendResult(x.Out, tx, v.seq, v.batchSeq, v.firstMinted, v.minted)
	return nil
}

func (d *daemon) preflight(x *httpserver.Exchange) *ledger.Error {
	r := singles.Get().(*request)
	defer func() { r.release(d.budget.Crowded()) }()
	r.preflight = true
	_, v, err := d.judgeOne(x, r, func(body []byte, tx *ledger.Transaction) *ledger.Error {
		lim := d.parsing
		lim.Conditions = true
		return ledger.ParseTransaction(body, tx, lim)
	})
	if err != nil {
		return err
	}
	x.Out = httpserver.AppendUint(x.Out, `{"valid":true,"at_seq":`, r.atSeq)
	x.Out = append(x.Out, `,"minted_instances":`...)
	x.Out = append(ledger.AppendMinted(x.Out, v.firstMinted, v.minted), '}')
	return nil
}

// judgeOne reads, parses and settles a request of one transaction.
func (d *daemon) judgeOne(x *httpserver.Exchange, r *request, parse func([]byte, *ledger.Transaction) *ledger.Error) (
	*ledger.Transaction, *verdict, *ledger.Error) {
	if err := d.read(x, d.maxBody); err != nil {
		return nil, nil, err
	}
	tx := &r.Txs[0]
	if err := parse(x.Body, tx); err != nil {
		return nil, nil, err
	}
	if err := tx.SetHeaderKey(x.R.Header[headerKey]); err != nil {
		return nil, nil, err
	}
	x.Sign(tx)
	if tx.Endpoint == ledger.EndpointReverse {
		d.invert(x, tx)
	}
	if err := d.settle(r); err != nil {
		return nil, nil, err
	}
	return tx, &r.verdicts[0], r.verdicts[0].err
}

// batch serves a batch request with a result for each transaction.
func (d *daemon) batch(x *httpserver.Exchange) *ledger.Error {
	r := bulks.Get().(*request)
	defer func() { r.release(d.budget.Crowded()) }()
	if err := d.read(x, d.maxBatchBody); err != nil {
		return err
	}
	if x.R.Header[headerKey] != nil {
		return ledger.Errorf(ledger.InvalidRequest,
			"A batch request has no idempotency key of its own: give each transaction its idempotency_key, and leave %s out.", headerKey).
			With(ledger.Text("field", headerKey))
	}
	if err := ledger.ParseBatch(x.Body, &r.BatchRequest, d.parsing); err != nil {
		return err
	}
	for i := range r.Txs {
		x.Sign(&r.Txs[i])
	}
	r.alive = d.alive(x)
	if err := d.settle(r); err != nil {
		return err
	}
	var last uint64
	x.Out, last = appendResults(x.Out, r)
	if last != 0 {
		setSeq(x, last)
	}
	return nil
}

// goneTime is how long a batch is still judged after its client has closed the
// connection, because it may have closed only its sending side.
const goneTime = 10 * time.Second

// alive returns a function that reports whether x can still be answered.
func (d *daemon) alive(x *httpserver.Exchange) func() bool {
	ctx, start := x.R.Context(), time.Now()
	return func() bool {
		took := time.Since(start)
		return took < goneTime || ctx.Err() == nil && (d.timeouts.Write == 0 || took < d.timeouts.Write)
	}
}

// appendResults appends the response to a batch request, and returns the highest
// sequence number in it.
func appendResults(dst []byte, r *request) (out []byte, last uint64) {
	dst = append(dst, `{"results":`...)
	bracket := byte('[')
	for i := range r.verdicts {
		dst = appendVerdict(append(dst, bracket), &r.verdicts[i], &r.Txs[i])
		bracket = ','
		last = max(last, r.verdicts[i].seq)
	}
	return append(dst, "]}"...), last
}

// appendVerdict appends the result of one transaction of several.
func appendVerdict(dst []byte, v *verdict, tx *ledger.Transaction) []byte {
	if v.err != nil {
		return v.err.AppendJSON(dst)
	}
	dst = ledger.AppendResult(dst, tx, v.seq, v.batchSeq, v.firstMinted, v.minted)
	if v.replayed {
		dst = append(dst[:len(dst)-1], `,"replayed":true}`...)
	}
	return dst
}
