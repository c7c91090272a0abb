package ledger

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestAppendTime compares appendTime with package time: one second of each day
// of 400 years, the same number of other seconds up to the year 9999, and both
// ends of the range.
func TestAppendTime(t *testing.T) {
	check := func(second int64) {
		if got, want := string(appendTime(nil, second)), time.Unix(second, 0).UTC().Format(time.RFC3339); got != want {
			t.Fatalf("second %d is %s, want %s", second, got, want)
		}
	}
	check(0)
	check(MaxTime)
	for day := int64(0); day < 146_097; day++ { // the calendar repeats after 400 years
		check(day*86_400 + rand.Int64N(86_400))
		check(rand.Int64N(MaxTime))
	}
}
