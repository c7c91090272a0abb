package reader

import (
	"assetledger/ledger"
	"assetledger/server/httpserver"
)

var readHolds = endpoint{
	pattern: "/v1/read/container/{id}/holds", reach: reachesContainer, id: "id", by: byContainerName,
	params: paramsOfList | paramsOfPast, list: listHolds, element: 320,
	collect: func(r *reading, s *ledger.State) (err *ledger.Error) {
		r.holdList, r.more, err = s.Holds(r.holdList[:0], r.id, r.params.Cursor.A, r.params.Limit)
		return err
	},
	render: func(r *reading, dst []byte) ([]byte, *ledger.Error) {
		dst = httpserver.AppendInt(dst, `{"data":{"container_id":`, r.id)
		dst = append(dst, `,"holds":[`...)
		var last cursor
		for i := range r.holdList {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = ledger.AppendHold(dst, r.holdList[i], false)
			last.A = r.holdList[i].ID
		}
		return append(r.endList(dst, last, listHolds), '}'), nil
	},
}

var readHold = endpoint{
	pattern: "/v1/read/hold/{id}", reach: reachesHold, id: "id",
	collect: func(r *reading, s *ledger.State) (err *ledger.Error) {
		r.hold, err = s.Hold(r.id)
		return err
	},
	render: func(r *reading, dst []byte) ([]byte, *ledger.Error) {
		return ledger.AppendHold(append(dst, `{"data":`...), r.hold, true), nil
	},
}
