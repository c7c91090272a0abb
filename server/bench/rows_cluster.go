package main

// The rows of a ledger on three members of etcd. Both sides of each ratio share
// the cores and the disk of one machine. So the ratio compares the work of a
// commit and its number of round trips, not the network.

const (
	putMany   = "etcd put, gRPC, 64 clients"
	putJSON   = "etcd put, JSON gateway, 64 clients"
	putOne    = "etcd put, gRPC, 1 client, p50"
	synchrony = "PostgreSQL with a synchronous standby"
)

var clusterRow = row{
	name: "cluster", what: "commits over three local members of etcd, against puts to the same etcd and PostgreSQL with a synchronous standby",
	setup: func(b *bench) ([]probe, error) {
		c, err := b.threeEtcds()
		if c == nil || err != nil {
			return nil, err
		}
		p, err := b.newWorld(accounts, 1, "-driver", c.log("bench"))
		if err != nil {
			return nil, err
		}
		commits := posts(p.write.url, "/v1/commit", singles(accounts))
		probes := []probe{
			{name: putMany, unit: "puts/s", measure: func() (float64, error) {
				o, err := c.put(b.ctx, connections, b.slice)
				if err != nil {
					return 0, err
				}
				return o.rate(), o.check()
			}},
			b.pressed(commitAlone, p.write, commits, connections),
			{name: putOne, unit: "µs", measure: func() (float64, error) { return micros50(c.put(b.ctx, 1, b.slice)) }},
			{name: commitOne, unit: "µs", measure: func() (float64, error) { return micros50(commits.drive(b.ctx, 1, b.slice)) }},
			b.full(p.write, 1, 1024),
			b.full(p.write, 16, 1024),
			b.batched(batched, p.write, accounts),
			b.pressed(putJSON, nil, c.gateway(), connections),
		}
		pg, err := b.postgresCluster()
		if pg == nil || err != nil {
			return probes, err
		}
		if err := pg.standBy(); err != nil {
			return nil, err
		}
		transfers, err := pg.transfers(synchrony, 1, 64)
		return append(probes, transfers...), err
	},
	goals: []goal{
		{what: "1 stream x 1,024 / etcd puts", of: ratio(streamName(1, 1024), putMany), bound: 100},
		{what: "16 streams x 1,024 / etcd puts", of: ratio(streamName(16, 1024), putMany), bound: 100},
		{what: "batches / etcd puts", of: ratio(batched, putMany), bound: 100},
		{what: "commits on 64 connections / etcd puts of 64 clients", of: ratio(commitAlone, putMany), bound: 3},
		{what: "one client, commit / put", of: ratio(commitOne, putOne), atMost: true, bound: 1.5},
		{what: "commits on 64 connections / PostgreSQL with a synchronous standby", of: ratio(commitAlone, synchrony+", 64 clients"), bound: 1},
	},
}

var clusterSeenRow = row{
	name: "cluster-seen", what: "time until a commit over three local members of etcd is readable on the writer's host and on another",
	setup: func(b *bench) ([]probe, error) {
		c, err := b.threeEtcds()
		if c == nil || err != nil {
			return nil, err
		}
		p, err := b.followedWorld(accounts, 1, "-driver", c.log("bench"))
		if err != nil {
			return nil, err
		}
		return p.seenTwice()
	},
	goals: mirrorRow.goals,
}
