package modeltest

import (
	"slices"

	"assetledger/ledger"
)

// Groups of codes that several operations share.
var (
	ofContainer = []ledger.Code{ledger.Forbidden, ledger.ContainerNotFound}
	ofInstance  = []ledger.Code{ledger.Forbidden, ledger.InstanceNotFound}
	ofStacks    = []ledger.Code{ledger.Forbidden, ledger.ContainerNotFound, ledger.ClassNotFound, ledger.WrongContainerKind, ledger.WrongClassKind}
	ofCells     = []ledger.Code{ledger.UnregisteredClassShape, ledger.OutOfBounds, ledger.CellOccupied, ledger.GridFull}
	ofTaking    = []ledger.Code{ledger.StackNotFound, ledger.InvalidQuantity, ledger.InsufficientBalance}
	ofNowhere   = []ledger.Code{ledger.AlreadyAttached, ledger.AlreadyPlaced}
)

func codes(groups ...[]ledger.Code) []ledger.Code { return slices.Concat(groups...) }

func also(list ...ledger.Code) []ledger.Code { return list }

// refusals has the codes with which the state of a ledger can reject each
// operation, according to docs/api.md. NotReversible is listed for the operation of
// the commit to be reversed. The codes of WholeTransaction concern no single
// operation.
var refusals = map[ledger.OpKind][]ledger.Code{
	WholeTransaction: also(ledger.Forbidden, ledger.CommitNotFound, ledger.AlreadyReversed, ledger.IdempotencyConflict),

	ledger.CreateContainer: also(ledger.Forbidden, ledger.ContainerAlreadyExists, ledger.NameTaken, ledger.NotReversible),
	ledger.RemoveContainer: codes(ofContainer, also(ledger.ContainerNotEmpty, ledger.NotReversible)),
	ledger.RenameContainer: codes(ofContainer, also(ledger.NameTaken)),

	ledger.AddFungible:       codes(ofStacks, ofCells, also(ledger.AlreadyPlaced, ledger.InvalidQuantity, ledger.InvalidOperation)),
	ledger.RemoveFungible:    codes(ofStacks, ofTaking),
	ledger.TransferFungible:  codes(ofStacks, ofTaking, ofCells, also(ledger.AlreadyPlaced, ledger.InvalidOperation)),
	ledger.MergeStacks:       codes(ofStacks, also(ledger.InvalidOperation, ledger.StackNotFound, ledger.StackHeld)),
	ledger.ConsolidateStacks: codes(ofStacks, also(ledger.StackNotFound, ledger.StackHeld, ledger.NotReversible)),
	ledger.SplitStack:        codes(ofStacks, ofTaking, ofCells, also(ledger.AlreadyPlaced, ledger.InvalidOperation)),

	ledger.HoldFungible: codes(ofStacks, ofTaking, also(ledger.HoldAlreadyExists, ledger.NotReversible)),
	ledger.SettleHold: codes(ofContainer, ofCells, also(ledger.HoldNotFound, ledger.InvalidOperation, ledger.WrongContainerKind,
		ledger.AlreadyPlaced, ledger.InvalidQuantity, ledger.InsufficientBalance, ledger.NotReversible)),
	ledger.ReleaseHold: also(ledger.Forbidden, ledger.HoldNotFound, ledger.NotReversible),

	ledger.MintInstance: codes(ofStacks, ofCells, also(ledger.InvalidRequest, ledger.SlotOutOfRange, ledger.SlotOccupied)),
	ledger.BurnInstance: codes(ofInstance, also(ledger.HasChildren, ledger.NotReversible)),
	ledger.Attach:       codes(ofInstance, ofNowhere, also(ledger.WouldCreateCycle, ledger.NotReversible)),
	ledger.Detach:       codes(ofInstance, also(ledger.NotAttached)),

	ledger.PlaceInSlot: codes(ofContainer, ofNowhere, also(ledger.WrongContainerKind, ledger.InstanceNotFound,
		ledger.SlotOutOfRange, ledger.SlotOccupied, ledger.NotReversible)),
	ledger.RemoveFromSlot: codes(ofContainer, also(ledger.WrongContainerKind, ledger.SlotOutOfRange, ledger.SlotEmpty)),
	ledger.SwapSlots:      codes(ofContainer, also(ledger.WrongContainerKind, ledger.SlotOutOfRange, ledger.NotReversible)),
	ledger.PlaceInGrid:    codes(ofContainer, ofNowhere, ofCells, also(ledger.WrongContainerKind, ledger.InstanceNotFound, ledger.NotReversible)),
	ledger.RemoveFromGrid: codes(ofContainer, also(ledger.WrongContainerKind, ledger.InstanceNotFound, ledger.NotPlaced)),
	ledger.MoveInGrid: codes(ofContainer, also(ledger.WrongContainerKind, ledger.OutOfBounds, ledger.CellEmpty,
		ledger.CellOccupied, ledger.NotReversible)),

	ledger.RegisterClass:      also(ledger.Forbidden, ledger.ClassAlreadyExists, ledger.NameTaken, ledger.NotReversible),
	ledger.RegisterClassShape: also(ledger.Forbidden, ledger.ClassNotFound, ledger.ShapeAlreadyExists, ledger.NotReversible),
	ledger.RenameClass:        also(ledger.Forbidden, ledger.ClassNotFound, ledger.NameTaken),

	ledger.RequireBalance:   codes(ofStacks, also(ledger.RequirementFailed)),
	ledger.RequireUnchanged: codes(ofContainer, also(ledger.RequirementFailed)),
	ledger.RequireInstance: codes(ofContainer, also(ledger.WrongContainerKind, ledger.InstanceNotFound,
		ledger.SlotOutOfRange, ledger.RequirementFailed)),
}

// WholeTransaction stands for the transaction in Refusals: its codes concern no single operation.
const WholeTransaction ledger.OpKind = 0

// Refusals returns the codes with which the state can reject an operation.
func Refusals(k ledger.OpKind) []ledger.Code { return refusals[k] }

// StateCodes returns the codes with which the state of a ledger rejects
// transactions, and those with which the memory of idempotency keys rejects
// requests.
func StateCodes() []ledger.Code {
	var all []ledger.Code
	for _, list := range refusals {
		all = append(all, list...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
