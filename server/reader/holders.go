package reader

import (
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

var readHolders = endpoint{
	pattern: "/v1/read/class/{id}/holders", id: "id", by: byClassCode,
	params: paramsOfList | paramKey, list: listHolders, element: 192,
	collect: func(r *reading, s *ledger.State) *ledger.Error {
		if err := s.WantKind(r.id, true); err != nil {
			return err
		}
		if !s.Listed(true) {
			return notListed
		}
		p := &r.params
		after := ledger.HolderKey{ContainerID: p.Cursor.A, Key: p.Cursor.B}
		var last ledger.HolderKey
		r.holders, last, r.more = s.Holders(r.holders[:0], r.id, p.key(), after, p.Limit)
		r.place = cursor{last.ContainerID, last.Key}
		return nil
	},
	render: func(r *reading, dst []byte) ([]byte, *ledger.Error) {
		dst = httpserver.AppendInt(dst, `{"data":{"class_id":`, r.id)
		dst = append(dst, `,"holders":[`...)
		for i := range r.holders {
			h := &r.holders[i]
			dst = httpserver.AppendInt(dst, httpserver.ElementStart(i, `{"container_id":`, `,{"container_id":`), h.ContainerID)
			dst = httpserver.AppendInt(dst, `,"key":`, h.Key)
			dst = appendQuantity(dst, h.Quantity, h.Held)
		}
		return append(r.endList(dst, r.place, listHolders), '}'), nil
	},
}

var readInstances = endpoint{
	pattern: "/v1/read/class/{id}/instances", id: "id", by: byClassCode,
	params: paramsOfList | paramKey | paramContainerID, list: listInstances, element: 384,
	collect: func(r *reading, s *ledger.State) *ledger.Error {
		if err := s.WantKind(r.id, false); err != nil {
			return err
		}
		if !s.Listed(false) {
			return notListed
		}
		p := &r.params
		filter := ledger.InstanceFilter{Key: p.key(), Container: p.ContainerID}
		r.instances, r.place.A, r.more = s.Instances(r.instances[:0], r.id, filter, p.Cursor.A, p.Limit)
		r.place.B = 0
		return nil
	},
	render: func(r *reading, dst []byte) ([]byte, *ledger.Error) {
		dst = httpserver.AppendInt(dst, `{"data":{"class_id":`, r.id)
		dst = append(dst, `,"instances":[`...)
		for i := range r.instances {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendInstance(dst, &r.instances[i]), '}')
		}
		return append(r.endList(dst, r.place, listInstances), '}'), nil
	},
}

// key returns the key to filter by, or nil if the request has no such filter.
func (p *params) key() *int64 {
	if p.has(paramKey) {
		return &p.Key
	}
	return nil
}

// appendQuantity appends the quantity of a stack and the part of it that is held,
// and closes the JSON object.
func appendQuantity(dst []byte, quantity, held int64) []byte {
	dst = httpserver.AppendInt(dst, `,"quantity":`, quantity)
	if held > 0 {
		dst = httpserver.AppendInt(dst, `,"held":`, held)
	}
	return append(dst, '}')
}

const (
	listPiece    = 500              // records visited each time the lock is held
	listPatience = 10 * time.Second // maximum time that a request waits for the lists
)

// notListed is the error of collect while the lists of holders and instances don't
// exist yet.
var notListed = ledger.Errorf(ledger.Overloaded, "This read daemon is still building its lists of the holders of classes: try again.")

// makeLists builds the lists that the endpoint needs, on first use. It works in
// pieces, and releases the lock between them. If the lists are not complete after
// listPatience, it returns a copy of notListed, and a later request continues the
// work.
func (r *reading) makeLists(e *endpoint) *ledger.Error {
	proj, ctx := r.daemon.proj, r.R.Context()
	r.endure(listPatience)
	for start := time.Now(); time.Since(start) < listPatience && ctx.Err() == nil; {
		if proj.makeList(e == &readHolders, listPiece) {
			return nil
		}
	}
	return ledger.Errorf(notListed.Code, "%s", notListed.Message)
}

func (p *projection) makeList(fungible bool, n int) (done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken != nil || p.state.MakeList(fungible, n)
}
