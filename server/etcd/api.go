package etcd

import (
	"context"
	"errors"
	"fmt"
)

// API is what a replicated log uses of etcd. Reads are linearizable.
type API interface {
	// Txn carries out Then if all of If hold, else Else, as one step.
	Txn(ctx context.Context, t *Txn) (*TxnResult, error)
	// Range returns the values of the keys from key up to end, which is excluded,
	// by key, at most limit of them if that is not 0. An empty end means key alone.
	Range(ctx context.Context, key, end string, limit int) (*RangeResult, error)
	// Watch calls changed after each change of a key from key up to end, from the
	// revision from on, or from now on if that is 0. It returns when ctx is done
	// or the watch has broken off: ErrCompacted if the revision is forgotten.
	Watch(ctx context.Context, key, end string, from int64, changed func(Event)) error
	// Grant makes a lease of about so many seconds, and says how many they are.
	Grant(ctx context.Context, seconds int64) (id, granted int64, err error)
	// KeepAlive renews a lease: ErrNoLease if it is over.
	KeepAlive(ctx context.Context, id int64) error
	// Revoke ends a lease, and deletes the keys that are bound to it.
	Revoke(ctx context.Context, id int64) error
	// Status asks a member how it is.
	Status(ctx context.Context) (Status, error)
	// Compact forgets the values that were replaced before a revision.
	Compact(ctx context.Context, revision int64) error
}

// A Cond is a condition on one key: that it has Value, or, if Value is nil,
// that it is not there.
type Cond struct {
	Key   string
	Value []byte
}

// An Op is a step of a transaction: exactly one of Put, Delete and Get names a
// key. End is for Delete: the range from Delete up to End.
type Op struct {
	Put, Delete, Get string
	End              string
	Value            []byte // of Put
	Lease            int64  // of Put; 0: none
}

// A Txn is a transaction.
type Txn struct {
	If         []Cond
	Then, Else []Op
}

// A TxnResult says which branch was carried out, and what its Gets found.
type TxnResult struct {
	Succeeded bool
	Revision  int64
	KVs       []KV // of all Gets, in order; a key that is not there has none
}

// A KV is a key and its value.
type KV struct {
	Key      string
	Value    []byte
	Revision int64 // of its last change
}

// A RangeResult is what a Range found, at a revision.
type RangeResult struct {
	KVs      []KV
	More     bool // there are more than limit
	Revision int64
}

// An Event is a change of a key.
type Event struct {
	KV
	Deleted bool
}

// A Status is that of a member.
type Status struct {
	Version string
	Size    int64  // bytes of the database file
	InUse   int64  // bytes of it that are in use
	Quota   int64  // bytes that Size may reach; 0 if the member does not say
	Member  uint64 // its id
	Leader  uint64 // id of the member that leads; 0: none
	Alarms  []string
}

var (
	// ErrCompacted means that the revision is forgotten: read anew.
	ErrCompacted = errors.New("etcd: the revision was compacted")
	// ErrNoLease means that the lease is over.
	ErrNoLease = errors.New("etcd: the lease is over")
	// ErrNoSpace means that the quota is used up: nothing was written.
	ErrNoSpace = errors.New("etcd: the quota of the database is used up")
)

// An Error is a member's answer other than success, as gRPC gives it.
type Error struct {
	Method   string
	Endpoint string
	Code     int // of gRPC
	Message  string
}

func (e *Error) Error() string {
	return fmt.Sprintf("etcd %s: %s: %s (code %d)", e.Endpoint, e.Method, e.Message, e.Code)
}

// Codes of gRPC that matter here.
const (
	codeInvalid         = 3
	codeNotFound        = 5
	codeDenied          = 7
	codeExhausted       = 8
	codePrecondition    = 9
	codeUnimplemented   = 12
	codeUnauthenticated = 16
)

// Refused reports whether err says that this attempt was not carried out, and
// would not be if it were sent again to another member: the request or the
// client is at fault.
func Refused(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return errors.Is(err, ErrNoSpace) || errors.Is(err, ErrNoLease)
	}
	switch e.Code {
	case codeNotFound, codeInvalid, codeDenied, codeExhausted, codePrecondition, codeUnimplemented, codeUnauthenticated:
		return true
	}
	return false
}
