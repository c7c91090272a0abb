// Package etcd is a client of etcd: the few calls that a replicated log needs,
// as gRPC over net/http. API is what the log uses of it; Client is the real
// one, and package etcdfake has one that fails on request.
//
// A call is one attempt on one member of the cluster, bounded in time. After a
// failure the next call goes to the next member. Whether a failed call was
// carried out is unknown, unless Refused says that it was not: it is for the
// caller to send it again.
package etcd
