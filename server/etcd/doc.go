// Package etcd is an etcd client with only the calls that a replicated log needs. It
// uses gRPC over net/http. API is the interface that the log uses. Client implements
// it for a real etcd, and package etcdfake in memory, with faults on request.
//
// The main invariant: no call waits forever. Every request except that of Watch has a
// timeout, and pings end a Watch whose connection is dead.
//
// A call is one attempt on one member of the cluster, with a second one only if the
// authentication token was no longer valid. After a failure, it is
// unknown whether the call was executed, and the next call goes to the next member. If
// Refused reports that the request or the client is at fault, the call was not executed
// and the member stays the same. The caller decides whether to send the call again.
package etcd
