package ledger

// Seed returns the -seed flag for tests outside the package; 0: not set.
func Seed() uint64 { return *seedFlag }
