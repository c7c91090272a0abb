package ledger

// MaxGridWork is the most work in grids that one transaction may take: to search
// for free places, and to occupy and free cells. The unit is to look at 64 cells
// of a row, or to change them, once. Like MaxConsolidated it bounds how long one
// transaction delays all others.
const MaxGridWork = 1 << 24

const (
	workMark    = 8  // for each word that comes or goes: two planes, and to take it back
	workVisit   = 16 // for each placement that is visited in the tree
	workUpwards = 4  // for each row on the way to what covers a cell
)

// words returns the number of words of a plane that the area meets.
func (a area) words() int {
	first, last, _, _ := span(a)
	return a.h * (last - first + 1)
}

// workInGrid counts work of the transaction being applied.
func (s *State) workInGrid(n int) { s.doing.gridWork += n }

// wantLittleGridWork returns the error for a transaction that has taken more work
// in grids than allowed. A transaction of the log gets none: it was accepted,
// perhaps before there was a limit.
func (s *State) wantLittleGridWork() *Error {
	if s.replaying {
		return nil
	}
	return Errorf(InvalidOperation, "The transaction searches grids for longer than a transaction may, which is to examine 64 cells %d times: split it, or give the places (x, y).", MaxGridWork).
		With(Num("max_grid_work", MaxGridWork))
}
