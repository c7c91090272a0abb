package reader

import (
	"strconv"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

var readClass = endpoint{
	pattern: "/v1/read/class/{id}", reach: reachesAll, id: "id", by: byClassCode,
	collect: func(r *reading, s *ledger.State) (err *ledger.Error) {
		r.class, err = s.Class(r.id)
		return err
	},
	render: func(r *reading, dst []byte) ([]byte, *ledger.Error) {
		return appendClass(append(dst, `{"data":`...), &r.class), nil
	},
}

var readClasses = endpoint{
	pattern: "/v1/read/classes", reach: reachesAll,
	params: paramsOfList, list: listClasses, element: 1024,
	collect: func(r *reading, s *ledger.State) *ledger.Error {
		r.classes, r.more = s.Classes(r.classes[:0], r.params.Cursor.A, r.params.Limit)
		return nil
	},
	render: func(r *reading, dst []byte) ([]byte, *ledger.Error) {
		dst = append(dst, `{"data":{"classes":[`...)
		var last cursor
		for i := range r.classes {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendClass(dst, &r.classes[i])
			last = cursor{A: r.classes[i].ID}
		}
		return append(r.endList(dst, last, listClasses), '}'), nil
	},
}

var readShapes = endpoint{
	pattern: "/v1/read/class/{id}/shapes", reach: reachesAll, id: "id", by: byClassCode,
	params: paramsOfList, list: listShapes, element: 128,
	collect: func(r *reading, s *ledger.State) (err *ledger.Error) {
		after := int64(ledger.BeforeShapes)
		switch {
		case r.params.Cursor.B != 0:
			after = ledger.AtAnyKey
		case r.params.has(paramCursor):
			after = r.params.Cursor.A
		}
		r.shapes, r.more, err = s.ShapePage(r.shapes[:0], r.id, after, r.params.Limit)
		return err
	},
	render: func(r *reading, dst []byte) ([]byte, *ledger.Error) {
		var last cursor
		dst = httpserver.AppendInt(dst, `{"data":{"class_id":`, r.id)
		dst = append(dst, `,"shapes":[`...)
		for i := range r.shapes {
			shape := &r.shapes[i]
			dst = append(dst, httpserver.ElementStart(i, `{"key":`, `,{"key":`)...)
			if shape.AnyKey {
				dst = append(dst, "null"...)
				last = cursor{B: 1}
			} else {
				dst = strconv.AppendInt(dst, shape.Key, 10)
				last = cursor{A: shape.Key}
			}
			dst = httpserver.AppendInt(dst, `,"width":`, int64(shape.Width))
			dst = httpserver.AppendInt(dst, `,"height":`, int64(shape.Height))
			dst = append(dst, '}')
		}
		return append(r.endList(dst, last, listShapes), '}'), nil
	},
}

var readStats = endpoint{
	pattern: "/v1/read/class/{id}/stats", id: "id", by: byClassCode,
	collect: func(r *reading, s *ledger.State) (err *ledger.Error) {
		r.stats, err = s.Stats(r.id)
		return err
	},
	render: func(r *reading, dst []byte) ([]byte, *ledger.Error) {
		t := &r.stats
		dst = httpserver.AppendInt(dst, `{"data":{"class_id":`, t.ClassID)
		dst = httpserver.AppendInt(dst, `,"total_quantity":`, t.TotalQuantity)
		if t.TotalHeld != 0 {
			dst = httpserver.AppendInt(dst, `,"total_held":`, t.TotalHeld)
		}
		dst = t.TotalAdded.Append(append(dst, `,"total_added":`...))
		dst = t.TotalRemoved.Append(append(dst, `,"total_removed":`...))
		dst = httpserver.AppendInt(dst, `,"stacks":`, t.Stacks)
		dst = httpserver.AppendInt(dst, `,"containers":`, t.Containers)
		dst = httpserver.AppendInt(dst, `,"instances_minted":`, t.InstancesMinted)
		dst = httpserver.AppendInt(dst, `,"instances_burned":`, t.InstancesBurned)
		dst = httpserver.AppendInt(dst, `,"instances_live":`, t.Alive)
		return append(dst, '}'), nil
	},
}

var readInstance = endpoint{
	pattern: "/v1/read/instance/{id}", reach: reachesInstance, id: "id",
	params: paramsOfList, list: listChildren, element: 32,
	collect: func(r *reading, s *ledger.State) (err *ledger.Error) {
		kept := r.instance.Children[:0]
		r.instance, err = s.Instance(r.id)
		r.instance.Children, r.more = s.Children(kept, r.id, r.params.Cursor.A, r.params.Limit)
		return err
	},
	render: func(r *reading, dst []byte) ([]byte, *ledger.Error) {
		n := &r.instance
		dst = appendInstance(append(dst, `{"data":`...), n)
		dst = append(dst, `,"children":[`...)
		for i, child := range n.Children {
			dst = httpserver.AppendInt(dst, httpserver.ElementStart(i, "", ","), child)
		}
		var last cursor
		if r.more {
			last.A = n.Children[len(n.Children)-1]
		}
		return append(r.endList(dst, last, listChildren), '}'), nil
	},
}

func appendClass(dst []byte, c *ledger.ClassInfo) []byte {
	dst = httpserver.AppendInt(dst, `{"class_id":`, c.ID)
	if c.Code != "" {
		dst = ledger.AppendString(append(dst, `,"code":`...), c.Code)
	}
	dst = ledger.AppendString(append(dst, `,"name":`...), c.Name)
	dst = strconv.AppendBool(append(dst, `,"fungible":`...), c.Fungible)
	dst = httpserver.AppendInt(dst, `,"decimals":`, int64(c.Decimals))
	dst = httpserver.AppendUint(dst, `,"registered_seq":`, c.RegisteredSeq)
	return append(dst, '}')
}

// appendInstance appends an instance without its children and without the closing
// brace.
func appendInstance(dst []byte, n *ledger.InstanceInfo) []byte {
	dst = httpserver.AppendInt(dst, `{"instance_id":`, n.ID)
	dst = httpserver.AppendInt(dst, `,"class_id":`, n.ClassID)
	dst = httpserver.AppendInt(dst, `,"key":`, n.Key)
	dst = httpserver.AppendUint(dst, `,"minted_seq":`, n.MintedSeq)
	return appendLocation(append(dst, `,"location":`...), n)
}

func appendLocation(dst []byte, n *ledger.InstanceInfo) []byte {
	switch n.Location {
	case ledger.InSlot:
		dst = httpserver.AppendInt(dst, `{"container_id":`, n.ContainerID)
		dst = httpserver.AppendInt(dst, `,"slot_index":`, int64(n.SlotIndex))
	case ledger.InGrid:
		dst = httpserver.AppendInt(dst, `{"container_id":`, n.ContainerID)
		dst = httpserver.AppendInt(dst, `,"x":`, int64(n.X))
		dst = httpserver.AppendInt(dst, `,"y":`, int64(n.Y))
		dst = httpserver.AppendInt(dst, `,"rotation":`, int64(n.Rotation))
	case ledger.Attached:
		dst = httpserver.AppendInt(dst, `{"parent_id":`, n.ParentID)
	default:
		return append(dst, "null"...)
	}
	return append(dst, '}')
}
