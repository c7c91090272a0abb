package writer

import (
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

// routes returns the write daemon's table of routes.
func (d *daemon) routes() []httpserver.Route {
	return append([]httpserver.Route{
		{Method: "POST", Pattern: "/v1/commit", Handle: d.writes(typeJSON, d.commit)},
		{Method: "POST", Pattern: "/v1/commit/batch", Handle: d.writes(typeJSON, d.batch)},
		{Method: "POST", Pattern: streamPattern, Handle: d.lingers(d.writes("application/x-ndjson", d.stream))},
		{Method: "POST", Pattern: "/v1/commit/preflight", Handle: d.accepts(typeJSON, d.preflight)},
		{Method: "POST", Pattern: "/v1/commit/{global_seq}/reverse", Handle: d.writes(typeJSON, d.reverse)},
		{Method: "POST", Pattern: "/v1/commit/{global_seq}/reverse/preflight", Handle: d.accepts(typeJSON, d.preflightReversal)},
		{Method: "POST", Pattern: "/v1/register/class", Handle: d.writes(typeJSON, d.registration(ledger.EndpointRegisterClass))},
		{Method: "POST", Pattern: "/v1/register/class-shape", Handle: d.writes(typeJSON, d.registration(ledger.EndpointRegisterShape))},
		{Method: "GET", Pattern: "/v1/health", Handle: d.health},
		{Method: "GET", Pattern: "/v1/livez", Handle: httpserver.Livez},
		{Method: "GET", Pattern: "/v1/readyz", Handle: d.readyz},
		{Method: "GET", Pattern: "/v1/metrics", Handle: d.metrics},
		{Method: "GET", Pattern: "/v1/openapi.json", Handle: describe},
	}, d.mirroring.Routes()...)
}

// writes wraps handle as accepts does, and also counts rejections.
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

// accepts returns a handler that rejects requests of another media type, and all
// requests while the daemon stands by, is stopping, or can no longer write the log.
// It calls handle for every other request, which is then answered even if the daemon
// begins to stop in the meantime.
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

// settle makes the sequencer judge r, and returns when the verdicts may be sent.
// The caller must complete them with readBack, and then call count.
func (d *daemon) settle(r *request) *ledger.Error {
	r.judged()
	start := time.Now()
	g, err := d.seq().intake.submit(r)
	if err != nil {
		return err
	}
	<-g.done
	r.took = time.Since(start)
	if g.err != nil && r.preflight {
		return unjudged
	}
	return g.err
}

// unjudged is the error of a preflight if the log can't confirm that this daemon is
// the writer, or that the state that the preflight was judged against is durable.
var unjudged = ledger.Errorf(ledger.LogUnavailable,
	"The commit log can't be reached or written, so the transaction could not be judged; nothing was changed: send the request again soon.")

// count counts the outcomes of the transactions of r.
func (d *daemon) count(r *request) {
	var commits, hits uint64
	for i := range r.verdicts {
		switch v := &r.verdicts[i]; {
		case r.preflight:
		case v.err != nil && r.bulk: // the rejection of a single transaction is counted in writes
			d.meters.rejected(v.err.Code)
		case v.err != nil:
		case v.replayed:
			hits++
		default:
			commits++
		}
	}
	if commits != 0 {
		d.meters.commitDuration.ObserveN(int64(r.took), commits)
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

// A parser reads a body into a transaction.
type parser func(body []byte, tx *ledger.Transaction) *ledger.Error

// one serves a request of one transaction.
func (d *daemon) one(x *httpserver.Exchange, parse parser) *ledger.Error {
	r := singles.Get().(*request)
	defer func() { r.release(d.budget.Crowded()) }()
	return d.oneOf(x, r, parse)
}

// oneOf does the same as the method one, but with a request that the caller provides.
func (d *daemon) oneOf(x *httpserver.Exchange, r *request, parse parser) *ledger.Error {
	tx, v, err := d.judgeOne(x, r, parse)
	if err != nil {
		return err
	}
	if v.replayed {
		x.W.Header()[headerHit] = valueHit
	}
	x.SetSeq(v.seq)
	x.Out = ledger.AppendResult(x.Out, tx, v.seq, v.batchSeq, v.firstMinted, v.minted)
	return nil
}

func (d *daemon) preflight(x *httpserver.Exchange) *ledger.Error {
	r := singles.Get().(*request)
	defer func() { r.release(d.budget.Crowded()) }()
	_, _, err := d.preflightOf(x, r, func(body []byte, tx *ledger.Transaction) *ledger.Error {
		lim := d.parsing
		lim.Conditions = true
		return ledger.ParseTransaction(body, tx, lim)
	})
	if err != nil {
		return err
	}
	x.Out = append(x.Out, '}')
	return nil
}

// preflightOf judges a transaction, changes nothing, and appends the response
// without its closing brace.
func (d *daemon) preflightOf(x *httpserver.Exchange, r *request, parse parser) (*ledger.Transaction, *verdict, *ledger.Error) {
	r.preflight = true
	tx, v, err := d.judgeOne(x, r, parse)
	if err != nil {
		return nil, nil, err
	}
	x.Out = httpserver.AppendUint(x.Out, `{"valid":true,"at_seq":`, r.atSeq)
	x.Out = append(x.Out, `,"minted_instances":`...)
	x.Out = ledger.AppendMinted(x.Out, v.firstMinted, v.minted)
	return tx, v, nil
}

// judgeOne reads, parses and settles a request of one transaction.
func (d *daemon) judgeOne(x *httpserver.Exchange, r *request, parse parser) (*ledger.Transaction, *verdict, *ledger.Error) {
	if err := x.ReadBody(d.maxBody); err != nil {
		return nil, nil, err
	}
	if !r.reversal {
		x.Unwatch()
	}
	if err := chargeOne(x); err != nil {
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
	if r.reversal {
		d.invert(x, tx) // ends when the client disconnects
		x.Unwatch()
	}
	if err := d.settle(r); err != nil {
		return nil, nil, err
	}
	d.readBack(r, 0, &x.Claim)
	d.count(r)
	return tx, &r.verdicts[0], r.verdicts[0].err
}

// batch serves a batch request. Its response has a result for each transaction.
func (d *daemon) batch(x *httpserver.Exchange) *ledger.Error {
	r := bulks.Get().(*request)
	defer func() { r.release(d.budget.Crowded()) }()
	if err := x.ReadBody(d.maxBatchBody); err != nil {
		return err
	}
	if x.R.Header[headerKey] != nil {
		return ledger.Errorf(ledger.InvalidRequest,
			"A batch request has no idempotency key of its own: give each transaction its own idempotency_key, and omit %s.", headerKey).
			With(ledger.Text("field", headerKey))
	}
	charged, err := chargeBatch(x)
	if err != nil {
		return err
	}
	if err := ledger.ParseBatch(x.Body, &r.BatchRequest, d.parsing); err != nil {
		return err
	}
	x.Claim.Force(batchSize(x.Body, int64(len(r.Txs))) - charged)
	for i := range r.Txs {
		x.Sign(&r.Txs[i])
	}
	r.alive = d.alive(x)
	if err := d.settle(r); err != nil {
		return err
	}
	if last := d.appendResults(x, r); last != 0 {
		x.SetSeq(last)
	}
	d.count(r)
	return nil
}

// goneTime is the time for which the sequencer judges a batch request even
// if its client has closed the connection. The client may have closed only
// its sending side.
const goneTime = 10 * time.Second

// alive returns a function that reports whether the response to x can still be
// delivered.
func (d *daemon) alive(x *httpserver.Exchange) func() bool {
	ctx, start := x.R.Context(), time.Now()
	return func() bool {
		took := time.Since(start)
		return took < goneTime || ctx.Err() == nil && (d.timeouts.Write == 0 || took < d.timeouts.Write)
	}
}

// appendResults appends the response to a batch request, and returns the highest
// sequence number in it. If the daemon is crowded, it first releases the
// operations.
func (d *daemon) appendResults(x *httpserver.Exchange, r *request) (last uint64) {
	if d.budget.Crowded() {
		r.ForgetOperations()
	}
	x.Out = append(x.Out, `{"results":`...)
	bracket := byte('[')
	for i := range r.verdicts {
		d.readBack(r, i, &x.Claim)
		x.Out = appendVerdict(append(x.Out, bracket), &r.verdicts[i], &r.Txs[i])
		bracket = ','
		last = max(last, r.verdicts[i].seq)
	}
	x.Out = append(x.Out, "]}"...)
	return last
}

// appendVerdict appends the result of one of several transactions.
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
