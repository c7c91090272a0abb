package ledger

// Seed returns the value of the -seed flag, 0 if it is not set, for tests outside the
// package.
func Seed() uint64 { return *seedFlag }
