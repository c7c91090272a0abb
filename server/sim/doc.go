// Package sim simulates a whole ledger in one goroutine, from one seed: a disk
// and a machine, the write daemon, read daemons, and clients that retry. It
// contains tests only.
//
// The daemons are writer.Core and reader.Core. The seed determines every step and
// every fault, so a failure repeats exactly:
//
//	go test ./server/sim -run 'TestSimulation$' -seeds 1 -seed N
//
// A second simulation, TestCluster, has several machines. Its etcd loses requests
// and replies, and executes other requests much later. The daemons of its hosts stand
// by, take over, write, pause between any two calls, and lose their disks:
//
//	go test ./server/sim -run 'TestCluster$' -cluster-seeds 1 -seed N
//
// Whatever happens, the history that the clients saw must be one that the
// model allows, and no state that anyone saw may ever disappear.
package sim
