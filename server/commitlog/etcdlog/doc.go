// Package etcdlog is the driver "etcd": a commit log on several machines. etcd
// keeps the newest part of the log, durable on a majority of its members, and
// says who writes. Each host's directory has the whole log, the same bytes
// everywhere, and is what read daemons, checkpoints and backups use.
//
//	<prefix>/head           where the log ends, and whose it is
//	<prefix>/f/<20 digits>  one frame as it is on disk, named by its first global_seq
//	<prefix>/active         the writer's name and URL, bound to a lease
//	<prefix>/mirror/<name>  how far the directory of a daemon that stands by is
//
// A batch is appended by one transaction: if the head is the one that this
// writer knows, put the frame and the next head. Heads never repeat, so there
// is no gap, no torn end, and no frame that the head does not name.
//
// The fence: a daemon becomes the writer by changing the head, in the same way,
// to one with the next epoch. No transaction that compares with an older head
// succeeds afterwards, whenever it was sent. So all that the writer before
// acknowledged is in the log by then. Neither clocks nor leases matter for it:
// the lease says who tries to become the writer, never who may.
//
// A transaction without an answer is sent again, the very same one, until there
// is an answer. If it is refused and the head is the one that it would have
// put, an earlier attempt was carried out. With any other head, another daemon
// is the writer.
package etcdlog
