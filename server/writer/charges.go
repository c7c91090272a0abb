package writer

import (
	"bytes"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

// These sizes determine what requests claim within -max-inflight besides their bodies.
// Streams claim memory block by block; see blockClaim.
const (
	// freeBody is the maximum size, in bytes, of a body of one transaction for
	// which only the body is charged. The parsed form of such a body takes about
	// as much memory as its connection, which is not charged either.
	freeBody = 4 << 10
	// refusalSize is the size in bytes of a rejection in the response to a batch
	// request, without the parts that it repeats from the request.
	refusalSize = 512
	// memberSize is the additional size in bytes of one transaction of a batch
	// request: itself, its verdict, and either its error or the metadata of a
	// replayed result.
	memberSize = 768
)

// chargeOne claims the memory into which a request of one transaction is parsed.
func chargeOne(x *httpserver.Exchange) *ledger.Error {
	if len(x.Body) <= freeBody {
		return nil
	}
	return x.Charge(ledger.ParsedSize(x.Body))
}

// chargeBatch claims the maximum that a batch request may take, and returns it. The
// number of transactions is not known yet: one may be as short as "1,".
func chargeBatch(x *httpserver.Exchange) (charged int64, err *ledger.Error) {
	charged = batchSize(x.Body, min(int64(bytes.Count(x.Body, []byte(",")))+1, ledger.MaxBatch))
	return charged, x.Charge(charged)
}

// batchSize returns the maximum number of bytes that a batch request of n
// transactions takes besides its body: first for its parsed operations, then for
// the response, which repeats idempotency keys and metadata. If memory is scarce, the
// operations are released before the response is made, so only the larger of the two
// counts.
func batchSize(body []byte, n int64) int64 {
	size := int64(len(body))
	return max(ledger.ParsedSize(body), 2*size+n*refusalSize) + n*memberSize
}
