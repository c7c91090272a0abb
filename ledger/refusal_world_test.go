package ledger

import (
	"strconv"
	"strings"
	"testing"
)

// world creates the state in which rejections are tested:
//
//	containers  1 and 2 Standard; 3 Slots (4); 4 Grid 4x3; 5 Slots (2); 6 Grid 8x8, empty; 7 Standard, empty
//	classes     1 fungible, shape 2x1; 2 fungible, no shape; 3 instances, shape 1x2, key 9: 3x3; 4 instances, no shape
//	instances   1 in slot 1 of 3; 2 at (0,0) of 4; 3 attached to 4, which is nowhere; 5 nowhere, of class 4; 6 nowhere; 7 nowhere, key 9
const world = `
	RegisterClass class_id=1 name=gold decimals=2
	RegisterClass class_id=2 name=iron
	RegisterClass class_id=3 name=sword fungible=false
	RegisterClass class_id=4 name=ghost fungible=false
	RegisterClassShape class_id=1 width=2 height=1
	RegisterClassShape class_id=3 width=1 height=2
	RegisterClassShape class_id=3 key=9 width=3 height=3
	CreateContainer container_id=1 kind=Standard owner=100
	CreateContainer container_id=2 kind=Standard owner=null
	CreateContainer container_id=3 kind=Slots slot_count=4
	CreateContainer container_id=4 kind=Grid grid_width=4 grid_height=3
	CreateContainer container_id=5 kind=Slots slot_count=2
	CreateContainer container_id=6 kind=Grid grid_width=8 grid_height=8
	CreateContainer container_id=7 kind=Standard
	AddFungible container_id=1 class_id=1 key=0 quantity=100
	AddFungible container_id=1 class_id=1 key=5 quantity=50
	AddFungible container_id=1 class_id=2 key=0 quantity=7
	AddFungible container_id=4 class_id=1 key=0 quantity=10 x=2 y=1
	MintInstance class_id=3 container_id=3 slot_index=1
	MintInstance class_id=3 container_id=4 x=0 y=0
	MintInstance class_id=3
	MintInstance class_id=3
	MintInstance class_id=4
	MintInstance class_id=3
	MintInstance class_id=3 key=9
	Attach instance_id=3 parent_id=4`

func newWorld(t testing.TB) *State {
	t.Helper()
	s := NewState(Config{IdempotencyKeys: 10})
	accept(t, s, world)
	return s
}

func TestRefusalOfBadTransactions(t *testing.T) {
	s := newWorld(t)
	if err := s.Apply(&Transaction{}, 0, &Outcome{}); err == nil || err.Code != InvalidRequest {
		t.Errorf("without operations: %v, want InvalidRequest", err)
	}
	if err := s.Apply(&Transaction{Ops: []Op{{Kind: 99}}}, 0, &Outcome{}); err == nil || err.Code != UnknownOperation || err.OpIndex != 0 {
		t.Errorf("an unknown operation: %v, want UnknownOperation at operation 0", err)
	}
	err := refuse(t, s, "MintInstance class_id=3; BurnInstance instance_id=minted:0; BurnInstance instance_id=minted:0")
	if err.Code != InstanceNotFound || err.OpIndex != 2 || detail(err, "instance_id") != strconv.Itoa(8) {
		t.Errorf("an instance burned twice: %v %+v, want InstanceNotFound at operation 2 with instance_id 8", err, err.Details)
	}
}

// TestRefusalsSayNames checks that messages contain the names of containers and
// classes, or the ids of those without a name. The details contain ids.
func TestRefusalsSayNames(t *testing.T) {
	for _, named := range []bool{false, true} {
		s := NewState(Config{})
		accept(t, s, "RegisterClass class_id=1 name=Euro; RegisterClass class_id=2 name=Sword fungible=false; RegisterClassShape class_id=2 width=1 height=2")
		accept(t, s, "CreateContainer container_id=10 kind=Standard; CreateContainer container_id=20 kind=Slots slot_count=4; CreateContainer container_id=30 kind=Grid")
		accept(t, s, "AddFungible container_id=10 class_id=1 key=0 quantity=9; HoldFungible hold_id=5 container_id=10 class_id=1 key=0 quantity=2")
		accept(t, s, "AddFungible container_id=10 class_id=1 key=3 quantity=1; MintInstance class_id=2 container_id=20 slot_index=0; MintInstance class_id=2 container_id=30")
		purse, rack, chest, euro, sword := "10", "20", "30", "1", "2"
		if named {
			purse, rack, chest, euro, sword = "users/7/purse", "rack", "chest", "EUR", "sword"
			accept(t, s, "RenameContainer container_id=10 name=users/7/purse; RenameContainer container_id=20 name=rack; RenameContainer container_id=30 name=chest")
			accept(t, s, "RenameClass class_id=1 code=EUR; RenameClass class_id=2 code=sword")
		}
		for _, c := range []struct{ op, message string }{
			{"RemoveFungible container_id=10 class_id=1 key=3 quantity=2", "Container " + purse + " holds 1 of class " + euro + " with key 3, which is less than the 2 requested."},
			{"RemoveFungible container_id=10 class_id=1 key=0 quantity=8", "Container " + purse + " has 7 available of class " + euro + " with key 0, which is less than the 8 requested; a further quantity of 2 is held."},
			{"RemoveFungible container_id=10 class_id=1 key=1 quantity=2", "Container " + purse + " holds no stack of class " + euro + " with key 1."},
			{"RemoveFungible container_id=10 class_id=2 key=1 quantity=2", "Class " + sword + " is not fungible: it has instances, not stacks."},
			{"AddFungible container_id=20 class_id=1 key=0 quantity=1", "Container " + rack + " is of kind Slots, which holds no stacks."},
			{"AddFungible container_id=30 class_id=1 key=0 quantity=1", "Class " + euro + " has no shape for key 0, so it can't be put in a Grid."},
			{"MergeStacks container_id=10 class_id=1 from_key=0 to_key=3", "Container " + purse + " holds 9 of class " + euro + " with key 0, including a held quantity of 2: settle or release that first."},
			{"MintInstance class_id=1", "Class " + euro + " is fungible: it has stacks, not instances."},
			{"MintInstance class_id=2 container_id=20 slot_index=0", "Slot 0 of container " + rack + " already holds instance 1."},
			{"RemoveFromSlot container_id=20 slot_index=4", "Container " + rack + " has 4 slots, from 0 to 3; there is no slot 4."},
			{"PlaceInSlot container_id=20 slot_index=1 instance_id=1", "Instance 1 is in slot 0 of container " + rack + "; take it out first."},
			{"PlaceInSlot container_id=20 slot_index=1 instance_id=2", "Instance 2 is at (0,0) of container " + chest + "; take it out first."},
			{"MintInstance class_id=2 container_id=30 x=0 y=15", "1 x 2 cells at (0,15) extend beyond container " + chest + ", which is a grid of 16 x 16."},
			{"RemoveContainer container_id=10", "Container " + purse + " holds 2 stacks and 0 instances; it must be empty."},
			{"SettleHold hold_id=5 to_container=10", "Hold 5 is in container " + purse + " itself; a settlement needs another container."},
			{"RequireUnchanged container_id=10 since_seq=1", "Container " + purse + " was changed by commit 4, after commit 1."},
			{"RequireInstance instance_id=1 container_id=30", "Instance 1 is not in container " + chest + "."},
			{"RegisterClassShape class_id=2 width=1 height=1", "Class " + sword + " already has a shape for all keys without one of their own."},
			{"CreateContainer container_id=10 kind=Slots", "Container 10 already exists."},
		} {
			if named {
				c.message = strings.ReplaceAll(c.message, "changed by commit 4", "changed by commit 5")
			}
			err := refuse(t, s, c.op)
			if err.Message != c.message {
				t.Errorf("%s: %s\nwant %s", c.op, err.Message, c.message)
			}
			for _, d := range err.Details {
				if d.Name == "container_id" || d.Name == "class_id" {
					if detail(err, d.Name) == "" || strings.ContainsAny(detail(err, d.Name), "abcdefghijklmnopqrstuvwxyz") {
						t.Errorf("%s: the detail %s is not an id: %s", c.op, d.Name, detail(err, d.Name))
					}
				}
			}
		}
	}
}
