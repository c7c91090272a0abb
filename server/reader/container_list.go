package reader

import (
	"slices"

	"assetledger/ledger"
)

var readContainers = endpoint{
	pattern: "/v1/read/containers", reach: reachesList,
	params: paramsOfList | paramOwner | paramKind | paramPrefix, list: listContainers, element: 640,
	collect: (*reading).listContainers,
	render: func(r *reading, dst []byte) ([]byte, *ledger.Error) {
		dst = append(dst, `{"data":{"containers":[`...)
		for i := range r.containers {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendContainer(dst, &r.containers[i]), '}')
		}
		if !r.params.has(paramPrefix) {
			return append(r.endList(dst, r.place, listContainers), '}'), nil
		}
		dst = append(dst, ']')
		if r.more {
			dst = append(appendNameCursor(append(dst, `,"next_cursor":"`...), r.last), '"')
		}
		return append(dst, '}'), nil
	},
}

// listContainers lists the containers that the client may see.
func (r *reading) listContainers(s *ledger.State) *ledger.Error {
	p := &r.params
	if r.Who.Limited() && p.has(paramOwner) && !slices.Contains(r.Who.Owners, p.Owner) {
		return ledger.Errorf(ledger.Forbidden, "This token may not see the containers of owner %d.", p.Owner).
			With(ledger.Num("owner", p.Owner))
	}
	filter := ledger.ContainerFilter{Owner: p.Owner, Kind: p.Kind}
	var owners []int64
	if r.Who.Limited() {
		owners = r.Who.Owners
	}
	switch {
	case p.has(paramPrefix):
		r.containers, r.last, r.more = s.NamedContainers(r.containers[:0], p.Prefix, filter, owners, p.CursorName, p.Limit)
	case owners != nil && !p.has(paramOwner):
		r.containers, r.place.A, r.more = s.ContainersOf(r.containers[:0], owners, p.Kind, p.Cursor.A, p.Limit)
	default:
		r.containers, r.place.A, r.more = s.Containers(r.containers[:0], filter, p.Cursor.A, p.Limit)
	}
	return nil
}
