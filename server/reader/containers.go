package reader

import (
	"strconv"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

var readContainer = endpoint{
	pattern: "/v1/read/container/{id}", reach: reachesContainer, id: "id", by: byContainerName,
	params: paramsOfPast, bare: true, brief: true,
	collect: (*reading).getContainer,
	render: func(r *reading, dst []byte) ([]byte, *ledger.Error) {
		c := &r.container
		dst = append(dst, `{"data":`...)
		dst = appendContainer(dst, c)
		dst = httpserver.AppendUint(dst, `,"created_seq":`, c.CreatedSeq)
		dst = httpserver.AppendUint(dst, `,"updated_seq":`, c.UpdatedSeq)
		switch c.Kind {
		case ledger.Slots:
			dst = httpserver.AppendInt(dst, `,"slot_count":`, int64(c.SlotCount))
		case ledger.Grid:
			dst = httpserver.AppendInt(dst, `,"grid_width":`, int64(c.GridWidth))
			dst = httpserver.AppendInt(dst, `,"grid_height":`, int64(c.GridHeight))
		}
		dst = httpserver.AppendInt(dst, `,"stacks":`, int64(c.Stacks))
		dst = httpserver.AppendInt(dst, `,"instances":`, int64(c.Instances))
		return append(dst, '}'), nil
	},
}

var readSlots = endpoint{
	pattern: "/v1/read/container/{id}/slots", reach: reachesContainer, id: "id", by: byContainerName,
	params: paramsOfList | paramsOfPast, list: listSlots, element: 192, brief: true,
	collect: func(r *reading, s *ledger.State) *ledger.Error {
		if err := r.getContainer(s); err != nil {
			return err
		}
		after := -1
		if r.params.has(paramCursor) {
			after = int(min(r.params.Cursor.A, ledger.MaxSlotCount))
		}
		var err *ledger.Error
		r.slots, r.more, err = s.SlotEntries(r.slots[:0], r.id, after, r.params.Limit)
		return err
	},
	render: func(r *reading, dst []byte) ([]byte, *ledger.Error) {
		dst = httpserver.AppendInt(dst, `{"data":{"container_id":`, r.id)
		dst = httpserver.AppendInt(dst, `,"slot_count":`, int64(r.container.SlotCount))
		dst = append(dst, `,"slots":[`...)
		var last cursor
		for i := range r.slots {
			e := &r.slots[i]
			dst = httpserver.AppendInt(dst, httpserver.ElementStart(i, `{"slot_index":`, `,{"slot_index":`), int64(e.SlotIndex))
			dst = httpserver.AppendInt(dst, `,"instance_id":`, e.InstanceID)
			dst = httpserver.AppendInt(dst, `,"class_id":`, e.ClassID)
			dst = httpserver.AppendInt(dst, `,"key":`, e.Key)
			dst = append(dst, '}')
			last = cursor{A: int64(e.SlotIndex)}
		}
		return append(r.endList(dst, last, listSlots), '}'), nil
	},
}

var readGrid = endpoint{
	pattern: "/v1/read/container/{id}/grid", reach: reachesContainer, id: "id", by: byContainerName,
	params: paramsOfList | paramsOfRegion | paramsOfPast, list: listGrid, element: 320, brief: true,
	collect: func(r *reading, s *ledger.State) *ledger.Error {
		if err := r.getContainer(s); err != nil {
			return err
		}
		var region *ledger.Rect
		if r.params.has(paramsOfRegion) {
			region = &r.params.Region
		}
		var after *ledger.Cell
		if r.params.has(paramCursor) {
			after = &ledger.Cell{Y: int(min(r.params.Cursor.A, ledger.MaxSide)), X: int(min(r.params.Cursor.B, ledger.MaxSide))}
		}
		var err *ledger.Error
		r.placements, r.more, err = s.Placements(r.placements[:0], r.id, region, after, r.params.Limit)
		return err
	},
	render: func(r *reading, dst []byte) ([]byte, *ledger.Error) {
		dst = httpserver.AppendInt(dst, `{"data":{"container_id":`, r.id)
		dst = httpserver.AppendInt(dst, `,"grid_width":`, int64(r.container.GridWidth))
		dst = httpserver.AppendInt(dst, `,"grid_height":`, int64(r.container.GridHeight))
		dst = httpserver.AppendInt(dst, `,"occupied_cells":`, int64(r.container.OccupiedCells))
		dst = append(dst, `,"placements":[`...)
		var last cursor
		for i := range r.placements {
			p := &r.placements[i]
			dst = appendPlacement(dst, i, p)
			last = cursor{int64(p.Y), int64(p.X)}
		}
		return append(r.endList(dst, last, listGrid), '}'), nil
	},
}

func (r *reading) getContainer(s *ledger.State) (err *ledger.Error) {
	r.container, err = s.Container(r.id)
	return err
}

// appendContainer appends a container in the form used in lists, without the
// closing brace.
func appendContainer(dst []byte, c *ledger.ContainerInfo) []byte {
	dst = httpserver.AppendInt(dst, `{"container_id":`, c.ID)
	if c.Name != "" {
		dst = ledger.AppendString(append(dst, `,"name":`...), c.Name)
	}
	dst = append(dst, `,"kind":"`...)
	dst = append(dst, c.Kind.String()...)
	dst = append(dst, `","owner":`...)
	if c.Owner == 0 {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, c.Owner, 10)
}

func appendPlacement(dst []byte, i int, p *ledger.Placement) []byte {
	dst = httpserver.AppendInt(dst, httpserver.ElementStart(i, `{"x":`, `,{"x":`), int64(p.X))
	dst = httpserver.AppendInt(dst, `,"y":`, int64(p.Y))
	dst = httpserver.AppendInt(dst, `,"width":`, int64(p.Width))
	dst = httpserver.AppendInt(dst, `,"height":`, int64(p.Height))
	dst = httpserver.AppendInt(dst, `,"rotation":`, int64(p.Rotation))
	dst = httpserver.AppendInt(dst, `,"class_id":`, p.ClassID)
	dst = httpserver.AppendInt(dst, `,"key":`, p.Key)
	if p.InstanceID != 0 {
		dst = httpserver.AppendInt(dst, `,"instance_id":`, p.InstanceID)
	} else {
		dst = httpserver.AppendInt(dst, `,"quantity":`, p.Quantity)
	}
	return append(dst, '}')
}

// endList closes a list and adds the cursor of the next page, if there is one.
func (r *reading) endList(dst []byte, last cursor, list listKind) []byte {
	dst = append(dst, ']')
	if r.more {
		dst = append(dst, `,"next_cursor":"`...)
		if r.at.past {
			dst = last.appendPast(dst, list, r.at.seq)
		} else {
			dst = last.append(dst, list)
		}
		dst = append(dst, '"')
	}
	return dst
}
