package ledger

// ContainerInfo is what a read of one container shows.
type ContainerInfo struct {
	ID                     int64
	Name                   string // "": none
	Kind                   ContainerKind
	Owner                  int64 // 0: none
	CreatedSeq, UpdatedSeq uint64
	SlotCount              int // Slots
	GridWidth, GridHeight  int // Grid
	OccupiedCells          int // Grid
	Stacks, Instances      int
}

// Balance is one stack.
type Balance struct {
	ClassID, Key, Quantity int64
	Held                   int64 // the part of the quantity that is held
}

// HoldInfo is a quantity that is held.
type HoldInfo struct {
	ID, ContainerID        int64
	ClassID, Key, Quantity int64
	HeldSeq                uint64
	ExpiresAt              int64 // Unix seconds; 0: never
}

// SlotEntry is one occupied slot.
type SlotEntry struct {
	SlotIndex                int
	InstanceID, ClassID, Key int64
}

// Placement is one rectangle of a grid: a stack or an instance.
type Placement struct {
	X, Y, Width, Height int // cells; width and height as placed, so swapped if Rotation is 90
	Rotation            int // 0 or 90
	ClassID, Key        int64
	Quantity            int64 // of a stack; 0 for an instance
	InstanceID          int64 // of an instance; 0 for a stack
}

// Rect is a region of a grid in cells.
type Rect struct{ X, Y, Width, Height int64 }

// ClassInfo is a registered class.
type ClassInfo struct {
	ID            int64
	Code          string // "": none
	Name          string
	Fungible      bool
	Decimals      int
	RegisteredSeq uint64
}

// ShapeInfo is a registered shape. AnyKey marks the shape of all keys without one
// of their own.
type ShapeInfo struct {
	AnyKey        bool
	Key           int64
	Width, Height int
}

// ClassStats are the totals of a class.
type ClassStats struct {
	ClassID                                 int64
	TotalQuantity                           int64
	TotalHeld                               int64 // the part of the total quantity that is held
	TotalAdded, TotalRemoved                Uint128
	Stacks, Containers                      int64
	InstancesMinted, InstancesBurned, Alive int64
}

// LocationKind says where an instance is.
type LocationKind uint8

const (
	Nowhere  LocationKind = 0
	InSlot   LocationKind = 1
	InGrid   LocationKind = 2
	Attached LocationKind = 3
)

// InstanceInfo is what a read of one instance shows.
type InstanceInfo struct {
	ID, ClassID, Key int64
	MintedSeq        uint64
	Location         LocationKind
	ContainerID      int64 // InSlot, InGrid
	SlotIndex        int   // InSlot
	X, Y, Rotation   int   // InGrid
	ParentID         int64 // Attached
	Children         []int64
}
