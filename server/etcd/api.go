package etcd

import (
	"context"
	"errors"
	"fmt"
)

// API consists of the etcd calls that a replicated log uses. Reads are linearizable.
type API interface {
	// Txn executes Then if all conditions of If hold, and otherwise Else,
	// atomically.
	Txn(ctx context.Context, t *Txn) (*TxnResult, error)
	// Range returns the values of the keys from key up to, but not including, end,
	// ordered by key. If limit is not 0, it returns at most that many. If end is
	// empty, it returns only the value of key.
	Range(ctx context.Context, key, end string, limit int) (*RangeResult, error)
	// Watch calls changed after each change to one of the keys that key and end
	// select, as in Range. It begins with the revision given in from, or with the next
	// change if from is 0. It returns when ctx is done or the watch breaks off. The
	// error is ErrCompacted if the given revision was compacted.
	Watch(ctx context.Context, key, end string, from int64, changed func(Event)) error
	// Grant creates a lease of about the given number of seconds, and returns its
	// id and its actual duration in seconds.
	Grant(ctx context.Context, seconds int64) (id, granted int64, err error)
	// KeepAlive renews a lease. It returns ErrNoLease if the lease has expired.
	KeepAlive(ctx context.Context, id int64) error
	// TimeToLive returns the seconds until a lease expires, rounded down. It is
	// negative if there is no such lease.
	TimeToLive(ctx context.Context, id int64) (seconds int64, err error)
	// Revoke ends a lease and deletes the keys that are bound to it.
	Revoke(ctx context.Context, id int64) error
	// Status returns the status of one member.
	Status(ctx context.Context) (Status, error)
	// Compact deletes the values that were replaced before a revision.
	Compact(ctx context.Context, revision int64) error
}

// A Cond is a condition on one key: that its value is Value, or, if Value is nil,
// that the key does not exist.
type Cond struct {
	Key   string
	Value []byte
}

// An Op is one operation of a transaction. Exactly one of Put, Delete and Get is
// set, and names a key. End applies to Delete: it deletes the keys from Delete up
// to, but not including, End.
type Op struct {
	Put, Delete, Get string
	End              string
	Value            []byte // value for Put
	Lease            int64  // lease for Put; 0 for none
}

// A Txn is a transaction.
type Txn struct {
	If         []Cond
	Then, Else []Op
}

// A TxnResult says which branch was executed, and what its Gets found.
type TxnResult struct {
	Succeeded bool
	Revision  int64
	KVs       []KV // results of all Gets, in order; a Get of a missing key has none
}

// A KV is a key and its value.
type KV struct {
	Key      string
	Value    []byte
	Revision int64 // revision of the last change to the key
	Lease    int64 // lease that the key is bound to; 0 if none
}

// A RangeResult is the result of a Range at a revision.
type RangeResult struct {
	KVs      []KV
	More     bool // there are more keys than limit
	Revision int64
}

// An Event is a change to a key.
type Event struct {
	KV
	Deleted bool
}

// A Status is the status of a member.
type Status struct {
	Version string
	Size    int64  // size of the database file in bytes
	InUse   int64  // bytes in use within the file
	Quota   int64  // maximum of Size in bytes; 0 if the member does not report it
	Member  uint64 // id of the member
	Leader  uint64 // id of the leader; 0 if there is none
	Alarms  []string
}

var (
	// ErrCompacted means that the requested revision was compacted. Read the current
	// values instead.
	ErrCompacted = errors.New("etcd: the revision was compacted")
	// ErrNoLease means that the lease has expired.
	ErrNoLease = errors.New("etcd: the lease has expired")
	// ErrNoSpace means that the quota is used up and nothing was written.
	ErrNoSpace = errors.New("etcd: the quota of the database is used up")
)

// An Error is a member's response other than success, as gRPC reports it.
type Error struct {
	Method   string
	Endpoint string
	Code     int // gRPC status code
	Message  string
}

func (e *Error) Error() string {
	return fmt.Sprintf("etcd %s: %s: %s (code %d)", e.Endpoint, e.Method, e.Message, e.Code)
}

// The gRPC status codes that matter here.
const (
	codeInvalid         = 3
	codeNotFound        = 5
	codeDenied          = 7
	codeExhausted       = 8
	codePrecondition    = 9
	codeUnimplemented   = 12
	codeUnauthenticated = 16
)

// Refused reports whether err means that this attempt was not executed, and that no
// other member would execute it either: for example, because the request is invalid,
// the client is not authorized, or the quota is used up.
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
