package ledger

import "fmt"

// An Error says why a request failed, as text for people and as named values for
// programs. A rejected request has changed nothing. With LogUnavailable or Internal, it
// may be unknown whether the request took effect.
type Error struct {
	Code    Code
	Message string   // one sentence, for people
	Details []Detail // what the rejection is about, in display order
	OpIndex int      // 0-based index of the operation at fault, or NoOperation
}

// NoOperation is the OpIndex of an error that no single operation caused.
const NoOperation = -1

// A Detail is one named value of an Error: an integer, or a string.
type Detail struct {
	Name  string
	Int   int64
	Str   string
	IsStr bool
}

// Num returns an integer detail.
func Num(name string, v int64) Detail { return Detail{Name: name, Int: v} }

// Text returns a string detail.
func Text(name, v string) Detail { return Detail{Name: name, Str: v, IsStr: true} }

// Errorf returns an error that no single operation caused.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), OpIndex: NoOperation}
}

// With adds details to the error and returns it.
func (e *Error) With(details ...Detail) *Error {
	e.Details = append(e.Details, details...)
	return e
}

// At records the index of the operation at fault and returns the error.
func (e *Error) At(op int) *Error {
	e.OpIndex = op
	return e
}

// Error returns the code and the message, and the operation's index if there is one.
func (e *Error) Error() string {
	if e.OpIndex != NoOperation {
		return fmt.Sprintf("%s: operation %d: %s", e.Code, e.OpIndex, e.Message)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}
