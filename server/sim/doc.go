// Package sim simulates a whole ledger in one goroutine, from one seed: a disk
// and a machine, the write daemon, read daemons, and clients that retry. It
// holds tests only.
//
// The daemons are writer.Core and reader.Core. Every step, and every fault, is
// drawn from the seed, so a failure repeats exactly:
//
//	go test ./server/sim -run 'TestSimulation$' -seeds 1 -seed N
//
// A second simulation, TestCluster, has several machines: an etcd that loses
// requests and replies and carries out others much later, and hosts whose
// daemons stand by, take over, write, sleep between any two calls, and lose
// their disks:
//
//	go test ./server/sim -run 'TestCluster$' -cluster-seeds 1 -seed N
//
// Whatever happens, the history that the clients saw must be one that the
// model allows, and no state that anybody saw may ever disappear.
package sim
