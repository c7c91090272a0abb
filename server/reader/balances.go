package reader

import (
	"assetledger/ledger"
	"assetledger/server/httpserver"
)

var readBalances = endpoint{
	pattern: "/v1/read/container/{id}/balances", reach: reachesContainer, id: "id", by: byContainerName,
	params: paramsOfList | paramClassID | paramKey | paramsOfPast, list: listBalances, element: 192, brief: true,
	collect: func(r *reading, s *ledger.State) (err *ledger.Error) {
		var filter ledger.BalanceFilter
		if r.params.has(paramClassID) {
			filter.ClassID = &r.params.ClassID
		}
		filter.Key = r.params.key()
		var after *ledger.StackKey
		if r.params.has(paramCursor) {
			after = &ledger.StackKey{ClassID: r.params.Cursor.A, Key: r.params.Cursor.B}
		}
		var last ledger.StackKey
		r.balances, last, r.more, err = s.Balances(r.balances[:0], r.id, filter, after, r.params.Limit)
		r.place = cursor{last.ClassID, last.Key}
		return err
	},
	render: func(r *reading, dst []byte) ([]byte, *ledger.Error) {
		dst = httpserver.AppendInt(dst, `{"container_id":`, r.id)
		dst = append(dst, `,"balances":[`...)
		for i := range r.balances {
			b := &r.balances[i]
			dst = httpserver.AppendInt(dst, httpserver.ElementStart(i, `{"class_id":`, `,{"class_id":`), b.ClassID)
			dst = httpserver.AppendInt(dst, `,"key":`, b.Key)
			dst = appendQuantity(dst, b.Quantity, b.Held)
		}
		return r.endList(dst, r.place, listBalances), nil
	},
}
