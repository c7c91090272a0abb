package ledger

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// A Code names one reason why a request fails. The spelling is
// part of the HTTP interface and never changes.
type Code string

// Codes by HTTP status. docs/api.md says when each is returned.
const (
	// 400
	MalformedJSON          Code = "MalformedJSON"
	InvalidRequest         Code = "InvalidRequest"
	UnknownOperation       Code = "UnknownOperation"
	InvalidParameter       Code = "InvalidParameter"
	IdempotencyKeyMismatch Code = "IdempotencyKeyMismatch"
	// 401, 403
	Unauthorized Code = "Unauthorized"
	Forbidden    Code = "Forbidden"
	// 404
	ContainerNotFound Code = "ContainerNotFound"
	ClassNotFound     Code = "ClassNotFound"
	InstanceNotFound  Code = "InstanceNotFound"
	CommitNotFound    Code = "CommitNotFound"
	HoldNotFound      Code = "HoldNotFound"
	NotFound          Code = "NotFound"
	// 405, 413, 415
	MethodNotAllowed     Code = "MethodNotAllowed"
	PayloadTooLarge      Code = "PayloadTooLarge"
	UnsupportedMediaType Code = "UnsupportedMediaType"
	// 409
	ContainerAlreadyExists Code = "ContainerAlreadyExists"
	ClassAlreadyExists     Code = "ClassAlreadyExists"
	ShapeAlreadyExists     Code = "ShapeAlreadyExists"
	IdempotencyConflict    Code = "IdempotencyConflict"
	AlreadyAttached        Code = "AlreadyAttached"
	AlreadyPlaced          Code = "AlreadyPlaced"
	SlotOccupied           Code = "SlotOccupied"
	CellOccupied           Code = "CellOccupied"
	NameTaken              Code = "NameTaken"
	HoldAlreadyExists      Code = "HoldAlreadyExists"
	AlreadyReversed        Code = "AlreadyReversed"
	// 410, 412
	CommitArchived    Code = "CommitArchived"
	RequirementFailed Code = "RequirementFailed"
	// 416
	RangeNotSatisfiable Code = "RangeNotSatisfiable"
	// 422
	WrongContainerKind     Code = "WrongContainerKind"
	WrongClassKind         Code = "WrongClassKind"
	InvalidQuantity        Code = "InvalidQuantity"
	InsufficientBalance    Code = "InsufficientBalance"
	InvalidOperation       Code = "InvalidOperation"
	UnregisteredClassShape Code = "UnregisteredClassShape"
	ContainerNotEmpty      Code = "ContainerNotEmpty"
	SlotOutOfRange         Code = "SlotOutOfRange"
	SlotEmpty              Code = "SlotEmpty"
	OutOfBounds            Code = "OutOfBounds"
	CellEmpty              Code = "CellEmpty"
	GridFull               Code = "GridFull"
	StackNotFound          Code = "StackNotFound"
	NotAttached            Code = "NotAttached"
	NotPlaced              Code = "NotPlaced"
	HasChildren            Code = "HasChildren"
	WouldCreateCycle       Code = "WouldCreateCycle"
	StackHeld              Code = "StackHeld"
	NotReversible          Code = "NotReversible"
	// 424, 425
	NotAttempted Code = "NotAttempted"
	NotFresh     Code = "NotFresh"
	// 500, 503
	Internal       Code = "Internal"
	Overloaded     Code = "Overloaded"
	ShuttingDown   Code = "ShuttingDown"
	NotTheWriter   Code = "NotTheWriter"
	LogUnavailable Code = "LogUnavailable"
)

var statusOf = map[Code]int{
	MalformedJSON: 400, InvalidRequest: 400, UnknownOperation: 400, InvalidParameter: 400, IdempotencyKeyMismatch: 400,
	Unauthorized: 401, Forbidden: 403,
	ContainerNotFound: 404, ClassNotFound: 404, InstanceNotFound: 404, CommitNotFound: 404, NotFound: 404, HoldNotFound: 404,
	MethodNotAllowed: 405, PayloadTooLarge: 413, UnsupportedMediaType: 415,
	ContainerAlreadyExists: 409, ClassAlreadyExists: 409, ShapeAlreadyExists: 409, IdempotencyConflict: 409,
	AlreadyAttached: 409, AlreadyPlaced: 409, SlotOccupied: 409, CellOccupied: 409, NameTaken: 409,
	HoldAlreadyExists: 409, AlreadyReversed: 409,
	CommitArchived: 410, RequirementFailed: 412, RangeNotSatisfiable: 416,
	WrongContainerKind: 422, WrongClassKind: 422, InvalidQuantity: 422, InsufficientBalance: 422, InvalidOperation: 422,
	UnregisteredClassShape: 422, ContainerNotEmpty: 422, SlotOutOfRange: 422, SlotEmpty: 422, OutOfBounds: 422,
	CellEmpty: 422, GridFull: 422, StackNotFound: 422, NotAttached: 422, NotPlaced: 422, HasChildren: 422,
	WouldCreateCycle: 422, StackHeld: 422, NotReversible: 422,
	NotAttempted: 424, NotFresh: 425,
	Internal: 500, Overloaded: 503, ShuttingDown: 503, LogUnavailable: 503, NotTheWriter: 503,
}

// Status returns the HTTP status for the code: 400 to 503.
func (c Code) Status() int {
	if s, ok := statusOf[c]; ok {
		return s
	}
	return 500
}

// Codes returns all codes, ordered by status and then by name.
func Codes() []Code {
	return slices.SortedFunc(maps.Keys(statusOf), func(a, b Code) int {
		return cmp.Or(a.Status()-b.Status(), strings.Compare(string(a), string(b)))
	})
}
