package ledger

// Seed is the -seed flag, for the tests outside the package; 0: not given.
func Seed() uint64 { return *seedFlag }
