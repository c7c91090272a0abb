package history

// heads finds the head of a chain by its key: a hash table with linear probing,
// at most three quarters full. A slot is free as long as its head is 0.
type heads struct {
	slots []headSlot // a power of two; nil at first
	used  int
}

type headSlot struct {
	key uint64
	at  uint32 // place of the newest entry + 1
}

const leastSlots = 1 << 10

// slot is the slot of the key, or the free one where it belongs.
func (h *heads) slot(key uint64) *headSlot {
	mask := uint64(len(h.slots) - 1)
	x, _ := spread(key)
	for i := x & mask; ; i = (i + 1) & mask {
		if s := &h.slots[i]; s.at == 0 || s.key == key {
			return s
		}
	}
}

// get is the head of the key, 0 for none.
func (h *heads) get(key uint64) uint32 {
	if h.used == 0 {
		return 0
	}
	return h.slot(key).at
}

// of is where the head of the key is. The caller sets it if it is 0.
func (h *heads) of(key uint64) *uint32 {
	if 4*(h.used+1) > 3*len(h.slots) {
		h.grow()
	}
	s := h.slot(key)
	if s.at == 0 {
		s.key = key
		h.used++
	}
	return &s.at
}

func (h *heads) grow() {
	old := h.slots
	h.slots = make([]headSlot, max(2*len(old), leastSlots))
	for _, s := range old {
		if s.at != 0 {
			*h.slot(s.key) = s
		}
	}
}
