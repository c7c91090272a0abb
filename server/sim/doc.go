// Package sim simulates a whole ledger in one goroutine, from one seed: a disk
// and a machine, the write daemon, read daemons, and clients that retry. It
// holds tests only.
//
// The daemons are writer.Core and reader.Core. Every step, and every fault, is
// drawn from the seed, so a failure repeats exactly:
//
//	go test ./server/sim -run 'TestSimulation$' -seeds 1 -seed N
//
// Whatever happens, the history that the clients saw must be one that the
// model allows, and no state that anybody saw may ever disappear.
package sim
