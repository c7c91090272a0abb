// Package etcdlog is the driver "etcd": a commit log on several machines. etcd
// stores the newest part of the log, durable on a majority of its members, and
// decides which daemon writes. The directory of each host has a copy of the whole
// log, with the same bytes on every host. Read daemons, checkpoints and backups use
// that copy.
//
//	<prefix>/head           where the log ends, and which writer it belongs to
//	<prefix>/f/<20 digits>  one frame as it is on disk, named by its first global_seq
//	<prefix>/active         the writer's name and URL, bound to a lease
//	<prefix>/mirror/<name>  progress of a copy: that of a standby or a mirror
//
// One transaction appends a batch: if the head is the one that this writer last read
// or stored, it puts the frame and the next head. Heads never repeat. So there is no
// gap, no torn end, and no frame beyond the head.
//
// The main invariant: after a takeover, the previous writer can append nothing
// more. This is the fence. A daemon becomes the writer by replacing the head that it
// last read with one of the next epoch. Afterwards no transaction that compares with
// an older head succeeds, whenever it was sent. So everything that the previous
// writer acknowledged is in the log by then. The fence depends on neither clocks nor
// leases: the lease determines which daemon tries to become the writer, never which
// one may.
//
// A transaction without a response is sent again unchanged, until there is a
// response. If its condition then fails and the head is the one that it would have
// put, an earlier attempt succeeded. If the head is any other, another daemon is
// the writer.
package etcdlog
