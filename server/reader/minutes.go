package reader

import (
	"math"
	"strconv"
	"time"

	"assetledger/ledger"
	"assetledger/server/reader/history"
)

// minutesCounted is the number of minutes in a response: the last hour, including
// the current minute.
const minutesCounted = 60

// readMinutes counts the commits in each minute of the last hour. The history index
// stores the time of each batch, so no commit is read, however many there are.
var readMinutes = endpoint{
	pattern: "/v1/read/minutes",
	collect: func(r *reading, _ *ledger.State) *ledger.Error {
		var err error
		r.minutes, err = r.daemon.tail.index.View(0)
		return r.daemon.noHistory(err)
	},
	render: func(r *reading, dst []byte) ([]byte, *ledger.Error) {
		v := r.minutes
		r.minutes = nil // readings are pooled
		from := r.daemon.tail.now().UTC().Truncate(time.Minute).Add(-(minutesCounted - 1) * time.Minute)
		dst = append(from.AppendFormat(append(dst, `{"data":{"from":"`...), time.RFC3339), `","commits":[`...)
		before, err := lastBefore(v, from.UnixNano())
		for i := 1; i <= minutesCounted && err == nil; i++ {
			until := from.Add(time.Duration(i) * time.Minute).UnixNano()
			if i == minutesCounted {
				until = math.MaxInt64 // the clock of the write daemon may be ahead
			}
			var last uint64
			last, err = lastBefore(v, until)
			if i > 1 {
				dst = append(dst, ',')
			}
			dst = strconv.AppendUint(dst, last-before, 10)
			before = last
		}
		return append(dst, `]}`...), r.daemon.noHistory(err)
	},
}

// lastBefore returns the last commit made before a time in Unix nanoseconds. It
// returns at least the base of the index, because the index has no times for commits
// before its base.
func lastBefore(v *history.View, time int64) (uint64, error) {
	seq, err := v.SeqAt(time - 1)
	return max(seq, v.Base()), err
}
