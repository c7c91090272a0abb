package reader

import (
	"net/http"
	"strconv"
	"sync"

	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/server/reader/history"
)

// An endpoint is one kind of read. A request passes through four steps. The lock is
// held only for the third, and never while waiting or writing:
//
//	check path and query → wait for min_seq → collect, under the lock → render
type endpoint struct {
	pattern string
	id      string   // name of the parameter in the path; "" for none
	by      naming   // which names the path may contain besides an integer
	params  param    // parameters that it takes, besides min_seq and wait
	list    listKind // list whose cursors it takes
	reach   reach    // what clients that are limited to owners see
	element int64    // maximum bytes of one element of the list, in its collected and its rendered form together
	bare    bool     // a read of the past does not need the contents of the container
	brief   bool     // a read of the present is too short to check whether the client disconnects

	// collect copies what the response needs from the state, or returns an error.
	collect func(*reading, *ledger.State) *ledger.Error
	// render appends the response, without its freshness.
	render func(*reading, []byte) ([]byte, *ledger.Error)
	// stream, if set, may take over the request after the wait.
	stream func(*reading) (taken bool, err *ledger.Error)
	// varies means that the response is about freshness itself, so its ETag must
	// cover that too.
	varies bool
}

// A reading is one read in progress, with memory for what it collects. Readings are
// pooled, and their slices are reused.
type reading struct {
	*httpserver.Exchange
	daemon     *daemon
	params     params
	id         int64  // id in the path, or that of the name in the path after lookUp
	name       string // name in the path, instead of an id; "" for none
	reach      reach
	bare       bool
	checkpoint uint64 // commit that the response reflects
	end        uint64 // last durable commit when the response was made; at least checkpoint

	container  ledger.ContainerInfo
	class      ledger.ClassInfo
	stats      ledger.ClassStats
	instance   ledger.InstanceInfo
	balances   []ledger.Balance
	slots      []ledger.SlotEntry
	placements []ledger.Placement
	classes    []ledger.ClassInfo
	shapes     []ledger.ShapeInfo
	containers []ledger.ContainerInfo
	hold       ledger.HoldInfo
	holdList   []ledger.HoldInfo
	holders    []ledger.Holder
	instances  []ledger.InstanceInfo
	more       bool   // the list continues after this page
	place      cursor // last entry of the page
	last       string // last name of the page, in a list ordered by name
	from, to   uint64 // maximum range of the page's commits
	reversals  []ledger.Reversal
	at         moment // moment of a read of the past
	past       pastReading
	minutes    *history.View
}

var readings = sync.Pool{New: func() any { return new(reading) }}

// serve returns the handler of an endpoint.
func (d *daemon) serve(e *endpoint) httpserver.Handler {
	allowed := e.params | paramsOfAll
	return func(x *httpserver.Exchange) *ledger.Error {
		r := readings.Get().(*reading)
		r.Exchange, r.daemon = x, d
		err := r.answer(e, allowed)
		large := r.Claim.Held > httpserver.TinyClaim
		if len(r.Out) <= httpserver.TinyClaim {
			r.Claim.Force(-r.Claim.Held) // the response fits in the buffers on its way to the client
		}
		r.Exchange, r.past = nil, pastReading{} // a view would keep generations and files alive
		if !large || !d.api.Budget.Crowded() {
			readings.Put(r)
		}
		return err
	}
}

func (r *reading) answer(e *endpoint, allowed param) *ledger.Error {
	if err := r.mayAsk(e); err != nil {
		return err
	}
	if err := r.judge(e, allowed); err != nil {
		return err
	}
	r.reach, r.bare = e.reach, e.bare
	if want := r.wanted(); want > 0 {
		if err := r.wait(want); err != nil {
			return err
		}
	}
	if e.brief && r.params.given&paramsOfPast == 0 {
		r.Unwatch()
	}
	if e.stream != nil {
		if taken, err := e.stream(r); taken || err != nil {
			return err
		}
	}
	charged, err := r.gather(e)
	if charged != nil {
		return charged
	}
	if err == nil {
		r.Out, err = e.render(r, r.Out)
	}
	if err == nil {
		r.finishRead(e.varies)
		return nil
	}
	return r.refuse(err)
}

// gather claims memory for what the response needs, and collects it. charged is an
// error from the budget, and err any other. Most lists are short, so it first
// requests only as many elements as fit in a tiny claim. That way, short responses are
// served even while the budget is full of long ones that no client reads.
func (r *reading) gather(e *endpoint) (charged, err *ledger.Error) {
	limit := r.params.Limit
	if e.element > 0 && e.list != listHistory && r.params.given&paramsOfPast == 0 { // a read of the past costs too much to collect twice, and history is collected while it is rendered
		r.params.Limit = min(limit, int(httpserver.TinyClaim/e.element))
	}
	for {
		if err := r.Charge(e.element*int64(r.params.Limit) - r.Claim.Held); err != nil {
			return err, nil
		}
		r.more = false
		err = r.collect(e.by, e.collect)
		for err == notListed && err != nil {
			if err = r.makeLists(e); err == nil {
				err = r.collect(e.by, e.collect)
			}
		}
		if err != nil || !r.more || r.params.Limit == limit {
			return nil, err
		}
		r.params.Limit = limit
	}
}

// roomFor makes room in b for n more bytes. It claims the new size of b, plus the
// other bytes that the reading holds elsewhere. It returns false if the budget has no
// room for all of them.
func (r *reading) roomFor(b []byte, n, other int) ([]byte, bool) {
	need := len(b) + n
	if need <= cap(b) && r.chargeNow(cap(b)+other) {
		return b, true
	}
	for _, size := range [...]int{2 * need, need + need/4, need} {
		if size < 5*len(b)/4 {
			break // each growth leaves a buffer to the garbage collector, so grow in few steps
		}
		if r.chargeNow(size + other) {
			return append(make([]byte, 0, size), b...), true
		}
	}
	return b, false
}

// beginAnswer returns a claimed buffer for a response of unknown size. It takes a
// large one from the pool only if memory is not scarce.
func (r *reading) beginAnswer() ([]byte, *ledger.Error) {
	if cap(r.Out) > commitRoom && r.daemon.api.Budget.Crowded() {
		r.Out = nil
	}
	return r.Out, r.Charge(commitRoom)
}

// chargeNow raises the claim to at least the given number of bytes. It returns
// false if there is no room.
func (r *reading) chargeNow(bytes int) bool { return r.Claim.GrowNow(int64(bytes) - r.Claim.Held) }

// awaitRoom raises the claim to at least the given number of bytes. If there is no
// room, it waits a moment.
func (r *reading) awaitRoom(bytes int) *ledger.Error { return r.Charge(int64(bytes) - r.Claim.Held) }

// judge parses and checks the path, the query and the header X-Asset-Min-Seq.
func (r *reading) judge(e *endpoint, allowed param) (err *ledger.Error) {
	r.name, r.place = "", cursor{}
	if e.id != "" {
		if r.id, r.name, err = pathID(e.id, r.R.PathValue(e.id), e.by); err != nil {
			return err
		}
	}
	if err := r.params.parse(r.R.URL.RawQuery, allowed, e.list); err != nil {
		return err
	}
	if err := r.params.header(r.R.Header[headerMinSeq]); err != nil {
		return err
	}
	r.at = moment{}
	return r.judgePast(allowed)
}

// wait waits until the wanted commit is applied. Errors: NotFresh if it is not
// applied in time, or at once if it is beyond the end of the log and mayCome returns
// false, and those of freshness.wait.
func (r *reading) wait(want uint64) *ledger.Error {
	fresh := r.daemon.proj.fresh
	if fresh.applied.Load() >= want {
		return nil
	}
	if end := r.daemon.tail.durableNow(r.R.Context()); want > end && !r.daemon.tail.mayCome(want) {
		return r.notFresh("Commit %d is beyond the end of the log, which is %d.", want, end)
	}
	r.endure(r.params.Wait)
	reached, err := fresh.wait(r.R.Context(), want, r.params.Wait)
	if err != nil || reached {
		return err
	}
	return r.notFresh("Commit %d was not applied within %v.", want, r.params.Wait)
}

func (r *reading) notFresh(format string, args ...any) *ledger.Error {
	r.stamp(r.daemon.proj.fresh.applied.Load())
	r.SetSeq(r.checkpoint)
	return ledger.Errorf(ledger.NotFresh, format, args...).
		With(ledger.Num("checkpoint_seq", int64(r.checkpoint)), ledger.Num("commit_log_seq", int64(r.end)))
}

// collect calls an endpoint's collect function, on the current state under the lock
// or on a past state.
func (r *reading) collect(by naming, from func(*reading, *ledger.State) *ledger.Error) *ledger.Error {
	if r.params.given&paramsOfPast == 0 {
		return r.locked(by, from)
	}
	var v *history.View
	err := r.locked(by, func(r *reading, s *ledger.State) *ledger.Error {
		var err error
		v, err = r.daemon.tail.index.View(r.id)
		return r.daemon.noHistory(err)
	})
	if err != nil {
		return err
	}
	return r.readPast(v, from)
}

// locked calls fn under the lock, after it has resolved the names and, for a read
// of the present, checked the client's permission.
func (r *reading) locked(by naming, fn func(*reading, *ledger.State) *ledger.Error) *ledger.Error {
	proj := r.daemon.proj
	proj.mu.RLock()
	defer proj.mu.RUnlock()
	if r.reach == reachesInstance && r.Who.Limited() && proj.state.IsFar(r.id) {
		proj.mu.RUnlock()
		proj.approach(r.id)
		proj.mu.RLock()
	}
	r.stamp(proj.fresh.applied.Load())
	if proj.broken != nil {
		return proj.broken
	}
	if err := r.lookUp(proj.state, by); err != nil {
		return err
	}
	if r.params.given&paramsOfPast == 0 {
		if err := r.maySee(proj.state); err != nil {
			return err
		}
	}
	if err := r.params.lookUp(proj.state); err != nil {
		return err
	}
	return fn(r, proj.state)
}

// lookUp resolves the names in the query.
func (p *params) lookUp(s *ledger.State) (err *ledger.Error) {
	if p.ClassCode != "" {
		if p.ClassID, err = s.ClassCoded(p.ClassCode); err != nil {
			return err
		}
	}
	if p.ContainerName != "" {
		p.ContainerID, err = s.ContainerNamed(p.ContainerName, nil) // only for reads that no limited client may use
	}
	return err
}

// lookUp resolves the name in the path.
func (r *reading) lookUp(s *ledger.State, by naming) (err *ledger.Error) {
	if r.name == "" {
		return nil
	}
	if by == byClassCode {
		r.id, err = s.ClassCoded(r.name)
		return err
	}
	var owners []int64
	if r.Who.Limited() {
		owners = r.Who.Owners
	}
	r.id, err = s.ContainerNamed(r.name, owners)
	return err
}

// stamp records the commit that the response reflects, and where the log ends.
func (r *reading) stamp(checkpoint uint64) {
	r.checkpoint = checkpoint
	r.end = max(r.daemon.tail.durable(), checkpoint)
}

func (r *reading) appendFreshness(dst []byte) []byte {
	dst = append(dst, `,"freshness":{"checkpoint_seq":`...)
	dst = strconv.AppendUint(dst, r.checkpoint, 10)
	dst = append(dst, `,"commit_log_seq":`...)
	dst = append(strconv.AppendUint(dst, r.end, 10), '}')
	if r.at.past {
		dst = r.at.append(dst)
	}
	return append(dst, '}')
}

// nothing is the collect function of reads that need nothing from the state.
func nothing(*reading, *ledger.State) *ledger.Error { return nil }

// finishRead completes a rendered response: freshness, X-Asset-Seq, ETag, and
// perhaps 304. The values of both headers share one string, to save an allocation.
func (r *reading) finishRead(varies bool) {
	data := len(r.Out)
	r.Out = r.appendFreshness(r.Out)
	if varies {
		data = len(r.Out)
	}
	var buf [20 + httpserver.ETagLength]byte
	text := httpserver.AppendETag(buf[:0], httpserver.ContentHash(r.Out[:data]))
	both := string(strconv.AppendUint(text, r.checkpoint, 10))
	tag := both[:httpserver.ETagLength]
	r.SetHeader("Etag", tag)
	r.SetHeader(httpserver.HeaderSeq, both[httpserver.ETagLength:])
	if match := r.R.Header["If-None-Match"]; len(match) != 0 && httpserver.MatchesETag(match, tag) {
		r.Status = http.StatusNotModified
		r.Out = r.Out[:0]
	}
}

// refuse responds with an error. A 403, 404 or 422 depends on the state, so the
// response says which commit it reflects. This distinguishes "not there" from "not
// there yet".
func (r *reading) refuse(err *ledger.Error) *ledger.Error {
	r.SetSeq(r.checkpoint)
	if s := err.Code.Status(); s != http.StatusForbidden && s != http.StatusNotFound && s != http.StatusUnprocessableEntity {
		return err
	}
	r.Fail(err)
	r.at = moment{}
	r.Out = r.appendFreshness(r.Out[:len(r.Out)-1])
	return nil
}
