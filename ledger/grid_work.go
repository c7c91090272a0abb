package ledger

// MaxGridWork is the maximum work that one transaction may do in grids: searching for
// free places, and occupying and freeing cells. The unit is about one read or change of 64
// cells of a row. Like MaxConsolidated, it limits how long one transaction delays all
// others.
const MaxGridWork = 1 << 24

const (
	workMark    = 8  // for each word of cells occupied or freed: both planes, and the undo
	workVisit   = 16 // for each placement that is visited in the tree
	workUpwards = 4  // for each row on the way up to the anchor of a placement
)

// words returns the number of words of a plane that the area overlaps.
func (a area) words() int {
	first, last, _, _ := span(a)
	return a.h * (last - first + 1)
}

// workInGrid counts work of the transaction being applied.
func (s *State) workInGrid(n int) { s.doing.gridWork += n }

// wantLittleGridWork returns the error for a transaction that has done more work in
// grids than allowed. It returns nil for transactions from the log: they were accepted,
// perhaps before there was a limit.
func (s *State) wantLittleGridWork() *Error {
	if s.replaying {
		return nil
	}
	return Errorf(InvalidOperation, "The transaction exceeds the limit on work in grids, which is to read or change 64 cells %d times: split it, or give the places (x, y).", MaxGridWork).
		With(Num("max_grid_work", MaxGridWork))
}
