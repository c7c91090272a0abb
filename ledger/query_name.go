package ledger

import (
	"bytes"
	"cmp"
	"slices"
)

// Reads by name.

// ContainerNamed returns the id of the container with the name. The argument owners,
// which must be sorted, limits the client to containers of these owners; nil means no
// limit. The error is ContainerNotFound without a limit. With a limit, it is Forbidden,
// whether there is no such container or it has another owner.
func (s *State) ContainerNamed(name string, owners []int64) (int64, *Error) {
	ref := s.findNamed(containerNames, name)
	if owners != nil {
		p := Permit{Owners: owners}
		if ref == 0 || !p.allows(s.containers.at(ref).owner) {
			return 0, containerNameForbidden(name)
		}
	}
	if ref == 0 {
		return 0, containerNameNotFound(name)
	}
	return s.containers.at(ref).id, nil
}

// ClassCoded returns the id of the class with the code. Error: ClassNotFound.
func (s *State) ClassCoded(code string) (int64, *Error) {
	ref := s.findNamed(classCodes, code)
	if ref == 0 {
		return 0, classCodeNotFound(code)
	}
	return s.classes.at(ref).id, nil
}

// NamedContainers appends up to limit containers whose names begin with prefix, ordered
// by name. The argument after is the last name already read, or ""; the page starts with
// the next one. If more is true, there may be others that come after the name last. The
// argument owners, which must be sorted, limits the result to containers of these owners;
// nil means no limit. If f.Owner is not 0, it selects one owner. A page may be shorter
// than limit even if there are more.
func (s *State) NamedContainers(dst []ContainerInfo, prefix string, f ContainerFilter, owners []int64, after string, limit int) (out []ContainerInfo, last string, more bool) {
	if owners == nil && f.Owner != 0 {
		owners = []int64{f.Owner}
	}
	if owners == nil {
		return s.namedPage(dst, prefix, f, 0, after, limit)
	}
	start := len(dst)
	each := min(limit, 4*limit/max(len(owners), 1)+1) // maximum per owner, so that many owners don't cost many pages
	for _, owner := range owners {
		if f.Owner != 0 && owner != f.Owner {
			continue
		}
		var stop string
		var rest bool
		if dst, stop, rest = s.namedPage(dst, prefix, f, owner, after, each); rest && (!more || stop < last) {
			last, more = stop, true
		}
	}
	return mergePages(dst, start, last, more, limit)
}

// mergePages sorts the pages of several owners, and cuts the result at limit. If more
// is true, it also cuts it after the name last, up to which all pages are complete.
func mergePages(dst []ContainerInfo, start int, last string, more bool, limit int) ([]ContainerInfo, string, bool) {
	found := dst[start:]
	slices.SortFunc(found, func(a, b ContainerInfo) int { return cmp.Compare(a.Name, b.Name) })
	if more {
		n, _ := slices.BinarySearchFunc(found, last, func(c ContainerInfo, last string) int {
			return cmp.Or(cmp.Compare(c.Name, last), -1) // continue after the name last
		})
		found = found[:n]
	}
	if limit = max(limit, 0); len(found) > limit {
		found, more = found[:limit], true
		if last = ""; limit > 0 {
			last = found[limit-1].Name
		}
	}
	return dst[:start+len(found)], last, more
}

// namedPage is like NamedContainers, for one owner, or for all if owner is 0.
func (s *State) namedPage(dst []ContainerInfo, prefix string, f ContainerFilter, owner int64, after string, limit int) (out []ContainerInfo, last string, more bool) {
	t := &s.names[containerNames]
	last = after
	from := []byte(max(prefix, after))
	order, at := &s.byName, t.at(from)
	if owner != 0 {
		order, at = &s.byOwnerName, s.ownedAt(owner, from)
	}
	skipped := 0
	var buf nameBuffer
	order.walk(at, func(ref uint32) bool {
		text := t.text(ref, &buf)
		c := s.containers.at(t.labels.at(ref).owner)
		if owner != 0 && c.owner != owner || !bytes.HasPrefix(text, []byte(prefix)) {
			return false
		}
		if string(text) == after {
			return true
		}
		if match := f.Kind == 0 || c.kind == f.Kind; match {
			if limit <= 0 {
				more = true
				return false
			}
			limit--
			dst = append(dst, s.containerInfo(t.labels.at(ref).owner))
		} else {
			skipped++
		}
		last = string(text)
		more = skipped == maxSkipped
		return !more
	})
	return dst, last, more
}
