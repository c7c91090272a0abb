package etcd

// Fields are numbered as in etcd's rpc.proto and kv.proto.

const (
	compareCreate = 1
	compareValue  = 3
)

func (t *Txn) encode() message {
	var m message
	for _, c := range t.If {
		if c.Value == nil {
			m = m.sub(1, message(nil).varint(2, compareCreate).text(3, c.Key)) // created at revision 0 means: does not exist
		} else {
			m = m.sub(1, message(nil).varint(2, compareValue).text(3, c.Key).bytes(7, c.Value))
		}
	}
	for i := range t.Then {
		m = m.sub(2, t.Then[i].encode())
	}
	for i := range t.Else {
		m = m.sub(3, t.Else[i].encode())
	}
	return m
}

func (o *Op) encode() message {
	switch {
	case o.Put != "":
		put := make(message, 0, len(o.Put)+len(o.Value)+32)
		return message(nil).sub(2, put.text(1, o.Put).bytes(2, o.Value).varint(3, uint64(o.Lease)))
	case o.Delete != "":
		return message(nil).sub(3, message(nil).text(1, o.Delete).text(2, o.End))
	}
	return message(nil).sub(1, message(nil).text(1, o.Get))
}

func decodeTxn(m message) (r *TxnResult, err error) {
	r = new(TxnResult)
	err = m.each(func(field int, n uint64, b message) {
		switch field {
		case 1:
			r.Revision = headerRevision(b)
		case 2:
			r.Succeeded = n != 0
		case 3:
			b.each(func(field int, _ uint64, b message) {
				if field == 1 {
					if found, err := decodeRange(b); err == nil {
						r.KVs = append(r.KVs, found.KVs...)
					}
				}
			})
		}
	})
	return r, err
}

func headerRevision(m message) (revision int64) {
	m.each(func(field int, n uint64, _ message) {
		if field == 3 {
			revision = int64(n)
		}
	})
	return revision
}

func decodeRange(m message) (r *RangeResult, err error) {
	r = new(RangeResult)
	err = m.each(func(field int, n uint64, b message) {
		switch field {
		case 1:
			r.Revision = headerRevision(b)
		case 2:
			r.KVs = append(r.KVs, decodeKV(b))
		case 3:
			r.More = n != 0
		}
	})
	return r, err
}

func decodeKV(m message) (kv KV) {
	m.each(func(field int, n uint64, b message) {
		switch field {
		case 1:
			kv.Key = string(b)
		case 3:
			kv.Revision = int64(n)
		case 5:
			kv.Value = b
		case 6:
			kv.Lease = int64(n)
		}
	})
	return kv
}

// A watchAnswer is one message from a watch.
type watchAnswer struct {
	created, canceled bool
	compacted         int64
	reason            string
	events            []Event
}

func decodeWatch(m message) (a watchAnswer, err error) {
	err = m.each(func(field int, n uint64, b message) {
		switch field {
		case 3:
			a.created = n != 0
		case 4:
			a.canceled = n != 0
		case 5:
			a.compacted = int64(n)
		case 6:
			a.reason = string(b)
		case 11:
			var e Event
			b.each(func(field int, n uint64, b message) {
				switch field {
				case 1:
					e.Deleted = n == 1
				case 2:
					e.KV = decodeKV(b)
				}
			})
			a.events = append(a.events, e)
		}
	})
	return a, err
}

func decodeStatus(m message) (s Status, err error) {
	err = m.each(func(field int, n uint64, b message) {
		switch field {
		case 1:
			b.each(func(field int, n uint64, _ message) {
				if field == 2 {
					s.Member = n
				}
			})
		case 2:
			s.Version = string(b)
		case 3:
			s.Size = int64(n)
		case 4:
			s.Leader = n
		case 8:
			s.Alarms = append(s.Alarms, string(b))
		case 9:
			s.InUse = int64(n)
		case 12:
			s.Quota = int64(n)
		}
	})
	return s, err
}
