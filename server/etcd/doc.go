// Package etcd is an etcd client with only the calls that a replicated log needs. It
// uses gRPC over net/http. API is the interface that the log uses. Client implements
// it for a real etcd, and package etcdfake in memory, with faults on request.
//
// The main invariant: no call waits forever. Every request except that of Watch has a
// timeout, and pings end a Watch whose connection is dead.
//
// A call makes one attempt on one member of the cluster, and a second one only if the
// authentication token was no longer valid. If Refused returns true for the error of a
// call, the call was not executed, and the next call goes to the same member. After any
// other error, it is unknown whether the call was executed, and the next call goes to
// the next member. The caller decides whether to make the call again.
package etcd
