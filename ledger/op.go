package ledger

// OpKind numbers the operations. The numbers are written to the log: never
// change or reuse one.
type OpKind uint8

const (
	CreateContainer    OpKind = 1
	RemoveContainer    OpKind = 2
	AddFungible        OpKind = 3
	RemoveFungible     OpKind = 4
	TransferFungible   OpKind = 5
	MergeStacks        OpKind = 6
	ConsolidateStacks  OpKind = 7
	MintInstance       OpKind = 8
	BurnInstance       OpKind = 9
	Attach             OpKind = 10
	Detach             OpKind = 11
	PlaceInSlot        OpKind = 12
	RemoveFromSlot     OpKind = 13
	SwapSlots          OpKind = 14
	PlaceInGrid        OpKind = 15
	RemoveFromGrid     OpKind = 16
	MoveInGrid         OpKind = 17
	RegisterClass      OpKind = 18
	RegisterClassShape OpKind = 19
	RenameContainer    OpKind = 20
	RenameClass        OpKind = 21
	RequireBalance     OpKind = 22
	RequireUnchanged   OpKind = 23
	RequireInstance    OpKind = 24

	HoldFungible OpKind = 25
	SettleHold   OpKind = 26
	ReleaseHold  OpKind = 27
	SplitStack   OpKind = 28

	NumOpKinds = 29 // one past the last
)

// An Op is one operation as requested. Its arguments are in Args in the order of
// the kind's table (see OpKind.Args), so one table serves the request parser, the
// record codec, the responses and the command line.
type Op struct {
	Kind OpKind
	Has  uint16         // bit i: argument i was given
	Null uint16         // bit i: argument i was given as null (Has is set, Args[i] is 0)
	Ref  uint16         // bit i: argument i is a reference, see below
	Name string         // its texts, see Text
	Args [MaxArgs]int64 // Kind as a ContainerKind, booleans as 0 or 1, rotation as 0 or 90
}

// MaxArgs is the largest number of arguments that an operation has.
const MaxArgs = 8

// A reference takes the place of an integer:
//   - {"minted": n} for an instance that the same transaction minted earlier; Args[i]
//     is n.
//   - A name or code for a container or class. Apply sets Args[i] to the
//     integer that it stands for. The record holds only the integer.
//   - Nothing, for a new container or class with a name or code. The bit in Has is
//     not set. Apply sets the bit in Ref, and sets Args[i] to the id that the ledger
//     assigns.

// Given reports whether argument i was given, and not as null.
func (o *Op) Given(i int) bool { return o.Has&^o.Null&(1<<i) != 0 }

// Get returns argument i, or def if it was not given or is null.
func (o *Op) Get(i int, def int64) int64 {
	if o.Given(i) {
		return o.Args[i]
	}
	return def
}

// ContainerKind numbers the kinds of containers. The numbers are written to the log.
type ContainerKind uint8

const (
	Standard ContainerKind = 1
	Slots    ContainerKind = 2
	Grid     ContainerKind = 3
)

// String returns the kind's name in the interface, "" for an unknown kind.
func (k ContainerKind) String() string {
	switch k {
	case Standard:
		return "Standard"
	case Slots:
		return "Slots"
	case Grid:
		return "Grid"
	}
	return ""
}

// ParseContainerKind is the inverse of String; ok is false for other names.
func ParseContainerKind(name string) (k ContainerKind, ok bool) {
	for k := Standard; k <= Grid; k++ {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}

// ArgType is the set of values that an argument may have.
type ArgType uint8

const (
	ArgID        ArgType = iota // integer 1 .. 2^63-1
	ArgKey                      // integer 0 .. 2^63-1
	ArgQuantity                 // integer up to 2^63-1; zero and below are rejected by the state, not the parser
	ArgIndex                    // integer 0 .. 2^63-1: x, y, slot_index
	ArgRotation                 // 0 or 90
	ArgSlotCount                // integer 1 .. 65536
	ArgSide                     // integer 1 .. 1024: a width or height in cells
	ArgInstance                 // ArgID, or {"minted": n}
	ArgKind                     // "Standard", "Slots", "Grid"
	ArgOwner                    // null or ArgID
	ArgShapeKey                 // null or ArgKey
	ArgName                     // string of 1..128 characters, none a control character; in Op.Name
	ArgBool                     // true or false; true if it is not given
	ArgFlag                     // true or false; false if it is not given
	ArgDecimals                 // integer 0 .. 18

	ArgContainer           // ArgID, or the name of a container that exists when the operation runs
	ArgClass               // ArgID, or the code of a class that exists when the operation runs
	ArgNewID               // ArgID; may be omitted if the operation has a name or code
	ArgContainerName       // string, see ValidContainerName
	ArgClassCode           // string, see ValidClassCode
	ArgContainerNameOrNull // ArgContainerName, or null to remove the name
	ArgClassCodeOrNull     // ArgClassCode, or null to remove the code
	ArgPeriod              // integer 1 .. 315360000: seconds
	ArgTime                // integer 1 .. 253402300799: seconds since 1970
)

// Arg describes one argument of an operation.
type Arg struct {
	Name     string
	Type     ArgType
	Required bool
}

// Positions in Op.Args, by operation.
const (
	CreateContainerID, CreateKind, CreateOwner, CreateSlotCount, CreateGridWidth, CreateGridHeight, CreateName = 0, 1, 2, 3, 4, 5, 6

	// AddFungible and RemoveFungible
	FungibleContainer, FungibleClass, FungibleKey, FungibleQuantity = 0, 1, 2, 3
	AddX, AddY, AddRotation                                         = 4, 5, 6

	TransferFrom, TransferTo, TransferClass, TransferKey, TransferQuantity = 0, 1, 2, 3, 4
	TransferX, TransferY, TransferRotation                                 = 5, 6, 7

	MergeContainer, MergeClass, MergeFromKey, MergeToKey = 0, 1, 2, 3

	ConsolidateContainer, ConsolidateClass, ConsolidateKey = 0, 1, 2

	MintClass, MintKey, MintContainer, MintSlot, MintX, MintY, MintRotation = 0, 1, 2, 3, 4, 5, 6

	// BurnInstance, Attach, Detach
	InstanceArg, ParentArg = 0, 1

	SlotContainer, SlotIndex, SlotInstance = 0, 1, 2

	SwapContainer, SwapA, SwapB, SwapOther = 0, 1, 2, 3

	GridContainer, GridInstance, GridX, GridY, GridRotation = 0, 1, 2, 3, 4

	MoveContainer, MoveX, MoveY, MoveToX, MoveToY, MoveRotation = 0, 1, 2, 3, 4, 5

	ClassID, ClassName, ClassFungible, ClassDecimals, ClassCode = 0, 1, 2, 3, 4

	ShapeClass, ShapeKey, ShapeWidth, ShapeHeight = 0, 1, 2, 3

	RenameContainerID, RenameContainerName          = 0, 1
	RenameClassID, RenameClassName, RenameClassCode = 0, 1, 2
	BalanceContainer, BalanceClass, BalanceKey      = 0, 1, 2
	BalanceAtLeast, BalanceAtMost                   = 3, 4
	UnchangedContainer, UnchangedSince              = 0, 1
	StandsInstance, StandsContainer, StandsSlot     = 0, 1, 2
	// HoldFungible; SettleHold and ReleaseHold use HoldID too
	HoldID, HoldContainer, HoldClass, HoldKey, HoldQuantity, HoldExpiresIn, HoldExpiresAt = 0, 1, 2, 3, 4, 5, 6

	SettleTo, SettleQuantity, SettleKeep, SettleX = 1, 2, 3, 4

	SplitContainer, SplitClass, SplitFromKey, SplitToKey, SplitQuantity, SplitX = 0, 1, 2, 3, 4, 5
)

type opSpec struct {
	name    string
	args    []Arg
	request bool // the arguments are inside "request"
	some    bool // at least one optional argument is needed
}

const required = true

var (
	xyr = []Arg{{"x", ArgIndex, false}, {"y", ArgIndex, false}, {"rotation", ArgRotation, false}}

	opSpecs = [NumOpKinds]opSpec{
		CreateContainer: {name: "CreateContainer", args: []Arg{{"container_id", ArgNewID, required}, {"kind", ArgKind, required}, {"owner", ArgOwner, false},
			{"slot_count", ArgSlotCount, false}, {"grid_width", ArgSide, false}, {"grid_height", ArgSide, false}, {"name", ArgContainerName, false}}},
		RemoveContainer: {name: "RemoveContainer", args: []Arg{{"container_id", ArgContainer, required}}},
		AddFungible: {name: "AddFungible", args: append([]Arg{{"container_id", ArgContainer, required}, {"class_id", ArgClass, required}, {"key", ArgKey, required},
			{"quantity", ArgQuantity, required}}, xyr...)},
		RemoveFungible: {name: "RemoveFungible", args: []Arg{{"container_id", ArgContainer, required}, {"class_id", ArgClass, required}, {"key", ArgKey, required},
			{"quantity", ArgQuantity, required}}},
		TransferFungible: {name: "TransferFungible", args: append([]Arg{{"from_container", ArgContainer, required}, {"to_container", ArgContainer, required},
			{"class_id", ArgClass, required}, {"key", ArgKey, required}, {"quantity", ArgQuantity, required}}, xyr...)},
		MergeStacks: {name: "MergeStacks", args: []Arg{{"container_id", ArgContainer, required}, {"class_id", ArgClass, required}, {"from_key", ArgKey, required},
			{"to_key", ArgKey, required}}},
		ConsolidateStacks: {name: "ConsolidateStacks", args: []Arg{{"container_id", ArgContainer, required}, {"class_id", ArgClass, required}, {"key", ArgKey, false}}},
		MintInstance: {name: "MintInstance", args: append([]Arg{{"class_id", ArgClass, required}, {"key", ArgKey, false}, {"container_id", ArgContainer, false},
			{"slot_index", ArgIndex, false}}, xyr...)},
		BurnInstance:   {name: "BurnInstance", args: []Arg{{"instance_id", ArgInstance, required}}},
		Attach:         {name: "Attach", args: []Arg{{"instance_id", ArgInstance, required}, {"parent_id", ArgInstance, required}}},
		Detach:         {name: "Detach", args: []Arg{{"instance_id", ArgInstance, required}}},
		PlaceInSlot:    {name: "PlaceInSlot", args: []Arg{{"container_id", ArgContainer, required}, {"slot_index", ArgIndex, required}, {"instance_id", ArgInstance, required}}},
		RemoveFromSlot: {name: "RemoveFromSlot", args: []Arg{{"container_id", ArgContainer, required}, {"slot_index", ArgIndex, required}}},
		SwapSlots: {name: "SwapSlots", args: []Arg{{"container_id", ArgContainer, required}, {"slot_a", ArgIndex, required}, {"slot_b", ArgIndex, required},
			{"other_container_id", ArgContainer, false}}},
		PlaceInGrid:    {name: "PlaceInGrid", args: append([]Arg{{"container_id", ArgContainer, required}, {"instance_id", ArgInstance, required}}, xyr...)},
		RemoveFromGrid: {name: "RemoveFromGrid", args: []Arg{{"container_id", ArgContainer, required}, {"instance_id", ArgInstance, required}}},
		MoveInGrid: {name: "MoveInGrid", args: []Arg{{"container_id", ArgContainer, required}, {"x", ArgIndex, required}, {"y", ArgIndex, required},
			{"to_x", ArgIndex, required}, {"to_y", ArgIndex, required}, {"rotation", ArgRotation, false}}},
		RegisterClass: {name: "RegisterClass", request: true, args: []Arg{{"class_id", ArgNewID, required}, {"name", ArgName, required},
			{"fungible", ArgBool, false}, {"decimals", ArgDecimals, false}, {"code", ArgClassCode, false}}},
		RegisterClassShape: {name: "RegisterClassShape", request: true, args: []Arg{{"class_id", ArgClass, required}, {"key", ArgShapeKey, false},
			{"width", ArgSide, required}, {"height", ArgSide, required}}},
		RenameContainer: {name: "RenameContainer", args: []Arg{{"container_id", ArgContainer, required}, {"name", ArgContainerNameOrNull, required}}},
		RenameClass:     {name: "RenameClass", some: true, args: []Arg{{"class_id", ArgClass, required}, {"name", ArgName, false}, {"code", ArgClassCodeOrNull, false}}},
		RequireBalance: {name: "RequireBalance", some: true, args: []Arg{{"container_id", ArgContainer, required}, {"class_id", ArgClass, required}, {"key", ArgKey, required},
			{"at_least", ArgKey, false}, {"at_most", ArgKey, false}}},
		RequireUnchanged: {name: "RequireUnchanged", args: []Arg{{"container_id", ArgContainer, required}, {"since_seq", ArgKey, required}}},
		RequireInstance: {name: "RequireInstance", args: []Arg{{"instance_id", ArgInstance, required}, {"container_id", ArgContainer, required},
			{"slot_index", ArgIndex, false}}},
		HoldFungible: {name: "HoldFungible", args: []Arg{{"hold_id", ArgID, required}, {"container_id", ArgContainer, required}, {"class_id", ArgClass, required},
			{"key", ArgKey, required}, {"quantity", ArgQuantity, required}, {"expires_in", ArgPeriod, false}, {"expires_at", ArgTime, false}}},
		SettleHold: {name: "SettleHold", args: append([]Arg{{"hold_id", ArgID, required}, {"to_container", ArgContainer, required},
			{"quantity", ArgQuantity, false}, {"keep", ArgFlag, false}}, xyr...)},
		ReleaseHold: {name: "ReleaseHold", args: []Arg{{"hold_id", ArgID, required}}},
		SplitStack: {name: "SplitStack", args: append([]Arg{{"container_id", ArgContainer, required}, {"class_id", ArgClass, required}, {"from_key", ArgKey, required},
			{"to_key", ArgKey, required}, {"quantity", ArgQuantity, required}}, xyr...)},
	}
)

// OpKinds lists the operations in the order of the interface's table.
func OpKinds() []OpKind {
	kinds := make([]OpKind, 0, NumOpKinds-1)
	for k := CreateContainer; k < NumOpKinds; k++ {
		kinds = append(kinds, k)
	}
	return kinds
}

// IsCondition reports whether the operation changes nothing and only requires
// that something holds.
func (k OpKind) IsCondition() bool { return k >= RequireBalance && k <= RequireInstance }

// Valid reports whether k is one of the operations.
func (k OpKind) Valid() bool { return k >= CreateContainer && k < NumOpKinds }

// String returns the operation's name in the interface.
func (k OpKind) String() string {
	if !k.Valid() {
		return "unknown operation"
	}
	return opSpecs[k].name
}

// Args describes the operation's arguments in the order of the interface's
// table, which is the order in Op.Args. The caller must not change the result.
func (k OpKind) Args() []Arg { return opSpecs[k].args }

// InRequest reports whether the arguments are inside a "request" object, as
// those of the two registrations are.
func (k OpKind) InRequest() bool { return opSpecs[k].request }
