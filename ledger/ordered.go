package ledger

import "sort"

// ordered keeps the numbers of records in an order that the caller defines.
// It is a list of sorted pages, in order. An entry takes about 6 bytes, where a
// tree would take 8 and need more comparisons.
//
//	pages → [up to 256 numbers] [up to 256 numbers] …
type ordered struct{ pages [][]uint32 }

const pageLen = 256

// A position compares a record with the one sought: below 0 if the record comes
// before the other, 0 if they are equal, above 0 if the record comes after it.
type position func(ref uint32) int

// seek returns the page and index of the first record that does not come before the
// given position.
func (o *ordered) seek(at position) (page, i int) {
	page = sort.Search(len(o.pages), func(p int) bool { return at(o.pages[p][len(o.pages[p])-1]) >= 0 })
	if page < len(o.pages) {
		i = sort.Search(len(o.pages[page]), func(i int) bool { return at(o.pages[page][i]) >= 0 })
	}
	return page, i
}

// insert puts ref, which is not yet in the order, at its position.
func (o *ordered) insert(ref uint32, at position) {
	p, i := o.seek(at)
	if p == len(o.pages) {
		if p == 0 || len(o.pages[p-1]) == pageLen {
			o.insertPage(p, nil)
		} else {
			p--
			i = len(o.pages[p])
		}
	}
	if page := o.pages[p]; len(page) == pageLen {
		const half = pageLen / 2
		o.insertPage(p+1, page[half:])
		o.pages[p] = page[:half]
		if i > half {
			p, i = p+1, i-half
		}
	}
	page := o.pages[p]
	if n := len(page); n == cap(page) { // append might allocate more than pageLen
		page = append(make([]uint32, 0, min(2*n, pageLen)), page...)
	}
	page = append(page, 0)
	copy(page[i+1:], page[i:])
	page[i] = ref
	o.pages[p] = page
}

// insertPage inserts page p, with a copy of refs in it.
func (o *ordered) insertPage(p int, refs []uint32) {
	o.pages = append(o.pages, nil)
	copy(o.pages[p+1:], o.pages[p:])
	o.pages[p] = append(make([]uint32, 0, max(len(refs), 4)), refs...)
}

// remove removes the record at the position, if there is one.
func (o *ordered) remove(at position) {
	p, i := o.seek(at)
	if p == len(o.pages) || at(o.pages[p][i]) != 0 {
		return
	}
	o.pages[p] = append(o.pages[p][:i], o.pages[p][i+1:]...)
	if p > 0 && len(o.pages[p-1])+len(o.pages[p]) <= pageLen*3/4 {
		p--
	}
	if next := p + 1; next < len(o.pages) && len(o.pages[p])+len(o.pages[next]) <= pageLen*3/4 {
		o.pages[p] = append(append(make([]uint32, 0, pageLen), o.pages[p]...), o.pages[next]...)
		o.removePage(next)
	} else if len(o.pages[p]) == 0 {
		o.removePage(p)
	}
}

func (o *ordered) removePage(p int) {
	last := len(o.pages) - 1
	copy(o.pages[p:], o.pages[p+1:])
	o.pages[last] = nil
	o.pages = o.pages[:last]
}

// fill fills an empty order with refs, which must be sorted.
func (o *ordered) fill(refs []uint32) {
	for len(refs) > 0 {
		n := min(len(refs), pageLen*3/4)
		o.insertPage(len(o.pages), refs[:n])
		refs = refs[n:]
	}
}

// walk visits the records from the given position on, until visit returns false. Then the
// result is false too. The function visit must not change the order.
func (o *ordered) walk(at position, visit func(ref uint32) bool) bool {
	p, i := o.seek(at)
	for ; p < len(o.pages); p, i = p+1, 0 {
		for _, ref := range o.pages[p][i:] {
			if !visit(ref) {
				return false
			}
		}
	}
	return true
}
