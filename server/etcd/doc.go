// Package etcd is an etcd client with only the calls that a replicated log needs. It
// uses gRPC over net/http. API is the interface that the log uses. Client implements
// it for a real etcd, and package etcdfake in memory, with faults on request.
//
// The main invariant: no call waits forever. Every request except that of Watch has a
// timeout, and pings end a Watch whose connection is dead.
//
// A call is one attempt on one member of the cluster, with a second one only if the
// authentication token was no longer valid. After a failure the next call
// goes to the next member. Whether a failed call was executed is unknown, unless
// Refused reports that it was not. The caller decides whether to send it again.
package etcd
