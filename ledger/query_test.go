package ledger

import (
	"fmt"
	"math"
	"testing"
)

func ptr(v int64) *int64 { return &v }

func TestBalancesFilterAndPage(t *testing.T) {
	s := NewState(Config{})
	text := "CreateContainer container_id=1 kind=Standard; RegisterClass class_id=9223372036854775807 name=last" +
		"; AddFungible container_id=1 class_id=9223372036854775807 key=9223372036854775807 quantity=1"
	var all []Balance
	for class := int64(1); class <= 6; class++ {
		text += fmt.Sprintf("; RegisterClass class_id=%d name=x", class*10)
		for key := int64(0); key < 5; key++ {
			if (class+key)%3 == 0 {
				continue
			}
			text += fmt.Sprintf("; AddFungible container_id=1 class_id=%d key=%d quantity=%d", class*10, key, class+key)
			all = append(all, Balance{class * 10, key, class + key, 0})
		}
	}
	accept(t, s, text)
	all = append(all, Balance{math.MaxInt64, math.MaxInt64, 1, 0})
	filters := []BalanceFilter{{}, {ClassID: ptr(30)}, {Key: ptr(0)}, {Key: ptr(3)}, {ClassID: ptr(20), Key: ptr(2)}, {ClassID: ptr(20), Key: ptr(1)},
		{Key: ptr(math.MaxInt64)}, {ClassID: ptr(math.MaxInt64)}, {ClassID: ptr(5)}, {Key: ptr(77)}, {ClassID: ptr(math.MaxInt64), Key: ptr(math.MaxInt64)}}
	for _, f := range filters {
		var want []Balance
		for _, b := range all {
			if (f.ClassID == nil || b.ClassID == *f.ClassID) && (f.Key == nil || b.Key == *f.Key) {
				want = append(want, b)
			}
		}
		for limit := 1; limit < 8; limit++ {
			var got []Balance
			var after *StackKey
			for more := true; more; {
				page, _, m, err := s.Balances(nil, 1, f, after, limit)
				noErrors(t, err)
				if more = m; more && len(page) != limit {
					t.Fatalf("a page of %d, want %d, since more follow", len(page), limit)
				}
				if got = append(got, page...); more {
					last := page[len(page)-1]
					after = &StackKey{last.ClassID, last.Key}
				}
			}
			expect(t, fmt.Sprintf("filter %+v limit %d", f, limit), want, got)
		}
	}
}

func TestContainersFilterAndPage(t *testing.T) {
	s := NewState(Config{})
	var all []ContainerInfo
	for id := int64(1); id <= 40; id++ {
		kind, owner := ContainerKind(1+id%3), id%4
		text := fmt.Sprintf("CreateContainer container_id=%d kind=%s", id, kind)
		if owner != 0 {
			text += fmt.Sprintf(" owner=%d", owner)
		}
		accept(t, s, text)
		info, err := s.Container(id)
		noErrors(t, err)
		all = append(all, info)
	}
	for owner := int64(0); owner < 5; owner++ {
		for kind := ContainerKind(0); kind < 4; kind++ {
			var want, got []ContainerInfo
			for _, c := range all {
				if (owner == 0 || c.Owner == owner) && (kind == 0 || c.Kind == kind) {
					want = append(want, c)
				}
			}
			for after, more := int64(0), true; more; {
				var page []ContainerInfo
				page, _, more = s.Containers(nil, ContainerFilter{owner, kind}, after, 3)
				if got = append(got, page...); more {
					after = page[2].ID
				}
			}
			expect(t, fmt.Sprintf("owner %d kind %s", owner, kind), want, got)
		}
	}
}

func TestSlotsClassesAndShapesPage(t *testing.T) {
	s := newWorld(t)
	accept(t, s, "PlaceInSlot container_id=3 slot_index=3 instance_id=6; RegisterClassShape class_id=3 key=2 width=4 height=4")
	page, more, err := s.SlotEntries(nil, 3, -1, 1)
	noErrors(t, err)
	if expect(t, "first slot", []SlotEntry{{1, 1, 3, 0}}, page); !more {
		t.Error("the first page of slots claims to be the last")
	}
	page, more, err = s.SlotEntries(nil, 3, 1, 1)
	noErrors(t, err)
	if expect(t, "second slot", []SlotEntry{{3, 6, 3, 0}}, page); more {
		t.Error("the last page of slots claims that more follow")
	}
	classes, more := s.Classes(nil, 1, 2)
	if expect(t, "classes", []ClassInfo{
		{ID: 2, Name: "iron", Fungible: true, RegisteredSeq: 1},
		{ID: 3, Name: "sword", RegisteredSeq: 1},
	}, classes); !more {
		t.Error("the first page of classes claims to be the last")
	}
	shapes, err := s.Shapes(nil, 3)
	noErrors(t, err)
	expect(t, "shapes", []ShapeInfo{{AnyKey: true, Width: 1, Height: 2}, {Key: 2, Width: 4, Height: 4}, {Key: 9, Width: 3, Height: 3}}, shapes)
	one, err := s.Class(1)
	noErrors(t, err)
	expect(t, "class", ClassInfo{ID: 1, Name: "gold", Fungible: true, Decimals: 2, RegisteredSeq: 1}, one)
}

func TestReadsRefuse(t *testing.T) {
	s := newWorld(t)
	reads := map[string]func(id int64) *Error{
		"container":  func(id int64) *Error { _, err := s.Container(id); return err },
		"balances":   func(id int64) *Error { _, _, _, err := s.Balances(nil, id, BalanceFilter{}, nil, 1); return err },
		"slots":      func(id int64) *Error { _, _, err := s.SlotEntries(nil, id, -1, 1); return err },
		"placements": func(id int64) *Error { _, _, err := s.Placements(nil, id, nil, nil, 1); return err },
		"class":      func(id int64) *Error { _, err := s.Class(id); return err },
		"shapes":     func(id int64) *Error { _, err := s.Shapes(nil, id); return err },
		"stats":      func(id int64) *Error { _, err := s.Stats(id); return err },
		"instance":   func(id int64) *Error { _, err := s.Instance(id); return err },
	}
	for _, tt := range []struct {
		read string
		id   int64
		code Code
	}{
		{"container", 99, ContainerNotFound}, {"balances", 99, ContainerNotFound}, {"balances", 3, WrongContainerKind},
		{"slots", 99, ContainerNotFound}, {"slots", 1, WrongContainerKind}, {"slots", 4, WrongContainerKind},
		{"placements", 99, ContainerNotFound}, {"placements", 1, WrongContainerKind}, {"placements", 3, WrongContainerKind},
		{"class", 99, ClassNotFound}, {"shapes", 99, ClassNotFound}, {"stats", 99, ClassNotFound}, {"instance", 99, InstanceNotFound},
	} {
		if err := reads[tt.read](tt.id); err == nil || err.Code != tt.code || err.OpIndex != NoOperation {
			t.Errorf("%s %d: %v, want %s", tt.read, tt.id, err, tt.code)
		}
	}
}
