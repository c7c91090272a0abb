package reader

import (
	"net/http"
	"strconv"
	"sync"

	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/server/reader/history"
)

// An endpoint is one read. A request for it goes through four steps, so that
// the lock is held for the second alone, and never while waiting or writing:
//
//	judge path and query → wait for min_seq → collect, under the lock → render
type endpoint struct {
	pattern string
	id      string   // the parameter of the path, "" for none
	by      naming   // what beside an integer it may be
	params  param    // taken beside min_seq and wait
	list    listKind // whose cursors it takes
	reach   reach    // of clients who are limited to owners
	element int64    // most bytes that one element of the list takes, as collected and as rendered
	bare    bool     // it needs nothing of what is in a container

	// collect copies from the state what the answer needs, and refuses.
	collect func(*reading, *ledger.State) *ledger.Error
	// render appends the answer up to, and without, its freshness.
	render func(*reading, []byte) ([]byte, *ledger.Error)
	// stream, if set, may take the request over once it has been waited for.
	stream func(*reading) (taken bool, err *ledger.Error)
	// varies: the answer is about freshness, so its ETag covers that too.
	varies bool
}

// A reading is one read in progress, with room for what it collects. Readings
// are pooled: the slices are used again.
type reading struct {
	*httpserver.Exchange
	daemon     *daemon
	params     params
	id         int64  // in the path; of a name once it was looked up
	name       string // in the path, in place of an integer; "": none
	reach      reach
	bare       bool
	checkpoint uint64 // the commit that the answer reflects
	end        uint64 // the last durable commit when it was made; at least checkpoint

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
	more       bool   // the list goes on
	place      cursor // after this one
	last       string // of a list by name: it goes on after this one
	from, to   uint64 // commits of the page, at most
	reversals  []ledger.Reversal
	at         moment // of a read of the past
	past       pastReading
}

var readings = sync.Pool{New: func() any { return new(reading) }}

// serve makes the handler of an endpoint.
func (d *daemon) serve(e *endpoint) httpserver.Handler {
	allowed := e.params | paramsOfAll
	return func(x *httpserver.Exchange) *ledger.Error {
		r := readings.Get().(*reading)
		r.Exchange, r.daemon = x, d
		err := r.answer(e, allowed)
		large := r.Claim.Held > httpserver.TinyClaim
		if len(r.Out) <= httpserver.TinyClaim {
			r.Claim.Force(-r.Claim.Held) // it fits in the buffers on the way
		}
		r.Exchange = nil
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
	if e.stream != nil {
		if taken, err := e.stream(r); taken || err != nil {
			return err
		}
	}
	if e.list == listHistory || r.params.given&paramsOfPast != 0 {
		r.daemon.tail.index.Link()
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

// gather charges what the answer may take, and collects it; charged is a refusal
// of the budget. Most lists are short. So it first asks for as many elements as a
// tiny claim has room for: short answers get through while long ones, which
// nobody reads, fill the budget.
func (r *reading) gather(e *endpoint) (charged, err *ledger.Error) {
	limit := r.params.Limit
	if e.element > 0 && e.list != listHistory && r.params.given&paramsOfPast == 0 { // which are collected at some cost, and history while it is rendered
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

// roomFor makes room in b for n more bytes, and charges what b takes then beside
// other bytes that the reading holds; false: the budget has no room for them.
func (r *reading) roomFor(b []byte, n, other int) ([]byte, bool) {
	need := len(b) + n
	if need <= cap(b) && r.chargeNow(cap(b)+other) {
		return b, true
	}
	for _, size := range [...]int{2 * need, need + need/4, need} {
		if size < 5*len(b)/4 {
			break // each step leaves a buffer behind for the collector: let there be few
		}
		if r.chargeNow(size + other) {
			return append(make([]byte, 0, size), b...), true
		}
	}
	return b, false
}

// beginAnswer returns the buffer for an answer whose size is not known, charged:
// a large one from the pool only where memory is not scarce.
func (r *reading) beginAnswer() ([]byte, *ledger.Error) {
	if cap(r.Out) > commitRoom && r.daemon.api.Budget.Crowded() {
		r.Out = nil
	}
	return r.Out, r.Charge(commitRoom)
}

// chargeNow has the claim hold at least as many bytes, if there is room.
func (r *reading) chargeNow(bytes int) bool { return r.Claim.GrowNow(int64(bytes) - r.Claim.Held) }

// awaitRoom has the claim hold at least as many bytes, and waits for a moment if
// there is no room.
func (r *reading) awaitRoom(bytes int) *ledger.Error { return r.Charge(int64(bytes) - r.Claim.Held) }

// judge reads path, query and headers.
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

// wait waits until a commit is applied.
func (r *reading) wait(want uint64) *ledger.Error {
	fresh := r.daemon.proj.fresh
	if fresh.applied.Load() >= want {
		return nil
	}
	if end := r.daemon.tail.durableNow(r.R.Context()); want > end && r.daemon.tail.mirror == nil { // of a copied log the end may not be known here yet
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
	r.setSeqHeader()
	return ledger.Errorf(ledger.NotFresh, format, args...).
		With(ledger.Num("checkpoint_seq", int64(r.checkpoint)), ledger.Num("commit_log_seq", int64(r.end)))
}

// collect runs an endpoint's collect: under the lock, or on the past.
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

// locked calls fn under the lock, once it knows what the names mean.
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

// lookUp finds out what names in the query mean.
func (p *params) lookUp(s *ledger.State) (err *ledger.Error) {
	if p.ClassCode != "" {
		if p.ClassID, err = s.ClassCoded(p.ClassCode); err != nil {
			return err
		}
	}
	if p.ContainerName != "" {
		p.ContainerID, err = s.ContainerNamed(p.ContainerName, nil) // only of reads that no limited client may ask for
	}
	return err
}

// lookUp finds out what the name in the path means.
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

// stamp notes at which commit the answer stands, and where the log ends.
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

// nothing is the collect of what is not read from the state.
func nothing(*reading, *ledger.State) *ledger.Error { return nil }

func (r *reading) setSeqHeader() {
	r.W.Header()[httpserver.HeaderSeq] = []string{strconv.FormatUint(r.checkpoint, 10)}
}

// finishRead completes a rendered answer: freshness, X-Asset-Seq, ETag, and
// perhaps 304. The headers' values share one string, for the allocator's sake.
func (r *reading) finishRead(varies bool) {
	data := len(r.Out)
	r.Out = r.appendFreshness(r.Out)
	if varies {
		data = len(r.Out)
	}
	var buf [20 + httpserver.ETagLength]byte
	text := httpserver.AppendETag(buf[:0], httpserver.ContentHash(r.Out[:data]))
	both := string(strconv.AppendUint(text, r.checkpoint, 10))
	values := []string{both[:httpserver.ETagLength], both[httpserver.ETagLength:]}
	h := r.W.Header()
	h["Etag"] = values[0:1:1]
	h[httpserver.HeaderSeq] = values[1:2:2]
	if match := r.R.Header["If-None-Match"]; len(match) != 0 && httpserver.MatchesETag(match, values[0]) {
		r.Status = http.StatusNotModified
		r.Out = r.Out[:0]
	}
}

// refuse answers an error. A 403, 404 or 422 was judged against the state, and says
// at which commit that stood: "not there" is not "not there yet".
func (r *reading) refuse(err *ledger.Error) *ledger.Error {
	r.setSeqHeader()
	if s := err.Code.Status(); s != http.StatusForbidden && s != http.StatusNotFound && s != http.StatusUnprocessableEntity {
		return err
	}
	r.Fail(err)
	r.at = moment{}
	r.Out = r.appendFreshness(r.Out[:len(r.Out)-1])
	return nil
}
