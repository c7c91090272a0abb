package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	historyPerContainer = 20 // commits per container
	historyBusyShare    = 10 // one commit in this many takes from container 1
	historyBatch        = 10_000

	historyNewest   = "newest 100 entries of a random container"
	historyAsOf     = "balances as of a random commit"
	historyBusy     = "newest 100 entries of the busiest container"
	historyBusyAsOf = "its balances as of a random commit"
	historySize     = "index"
	pgNewest        = "PostgreSQL, newest 100 entries of a random account"
	pgAsOf          = "PostgreSQL, balance as of a random entry"
	pgBusy          = "PostgreSQL, newest 100 entries of the busiest account"
	pgBusyAsOf      = "PostgreSQL, its balance as of a random entry"
)

// p99 and p50 return the names of a probe's percentiles.
func p99(name string) string { return name + ", p99" }
func p50(name string) string { return name + ", p50" }

var historyRow = row{
	name: "history", what: "histories and the past, 20,000,000 commits over 1,000,000 containers, one of which has 2,000,000; one connection, warm",
	setup: func(b *bench) ([]probe, error) {
		containers := b.history / historyPerContainer
		p, err := b.followedWorld(containers, 1)
		if err != nil {
			return nil, err
		}
		r := rand.New(rand.NewPCG(14, 14))
		for n := 0; n < b.history; n += historyBatch {
			if err := p.post("/v1/commit/batch", historyTransfers(r, containers)); err != nil {
				return nil, err
			}
		}
		p.read.stop() // it writes a checkpoint: the whole index is then in files
		if err := p.follow(); err != nil {
			return nil, err
		}
		last, err := metric(p.read.url, "asset_ledger_read_checkpoint_seq")
		if err != nil {
			return nil, err
		}
		paths := func(container func() int, of string) (list []string) {
			for range variety {
				path := of
				if strings.HasSuffix(of, "=") {
					path += strconv.Itoa(int(last) - b.history + 1 + r.IntN(b.history))
				}
				list = append(list, fmt.Sprintf("/v1/read/container/%d/%s", container(), path))
			}
			return list
		}
		anyone := func() int { return 2 + r.IntN(containers-1) }
		busiest := func() int { return 1 }
		probes := []probe{
			b.percentiles(historyNewest, p, paths(anyone, "history?limit=100")),
			b.percentiles(historyAsOf, p, paths(anyone, "balances?at_seq=")),
			b.percentiles(historyBusy, p, paths(busiest, "history?limit=100")),
			b.percentiles(historyBusyAsOf, p, paths(busiest, "balances?at_seq=")),
			{name: historySize, unit: "bytes/change", measure: func() (float64, error) {
				var size int64
				files, err := filepath.Glob(filepath.Join(p.dir, "history", "*.hist"))
				for _, name := range files {
					if info, err := os.Stat(name); err == nil {
						size += info.Size()
					}
				}
				return float64(size) / float64(2*b.history+2*containers), err
			}},
		}
		peer, err := b.postgresHistory(containers)
		return append(probes, peer...), err
	},
	goals: []goal{
		{what: "newest 100 of a random container, p99", of: only(p99(historyNewest)), atMost: true, bound: 10_000, unit: "µs"},
		{what: "balances of a random container as of a commit, p99", of: only(p99(historyAsOf)), atMost: true, bound: 10_000, unit: "µs"},
		{what: "newest 100 of the busiest, p99", of: only(p99(historyBusy)), atMost: true, bound: 50_000, unit: "µs"},
		{what: "balances of the busiest as of a commit, p99", of: only(p99(historyBusyAsOf)), atMost: true, bound: 50_000, unit: "µs"},
		{what: "index", of: only(historySize), atMost: true, bound: 40, unit: "bytes/change"},
	},
}

// historyTransfers returns a batch of transfers. Every tenth one takes from
// container 1.
func historyTransfers(r *rand.Rand, containers int) []byte {
	body := []byte(`{"transactions":[`)
	for i := range historyBatch {
		from := 1
		if i%historyBusyShare != 0 {
			from = 2 + r.IntN(containers-1)
		}
		to := 2 + r.IntN(containers-1)
		if to == from {
			to = 2 + (to-1)%(containers-1)
		}
		if i > 0 {
			body = append(body, ',')
		}
		body = fmt.Appendf(body, `{"operations":[{"op":"TransferFungible","args":{"from_container":%d,"to_container":%d,"class_id":1,"key":0,"quantity":1}}]}`, from, to)
	}
	return append(body, "]}"...)
}

// percentiles returns a probe of the median time of a client's requests. The client
// sends one request after another. The probe also measures the 99th percentile.
func (b *bench) percentiles(name string, p *pair, paths []string) probe {
	var o *outcome
	l := gets(p.read.url, paths)
	return probe{name: p50(name), unit: "µs", measure: func() (float64, error) {
		var err error
		if o, err = b.press(l, 1, b.slice); err != nil {
			return 0, err
		}
		return float64(o.p50.Microseconds()), o.check()
	}, more: []derived{{p99(name), "µs", func() float64 { return float64(o.p99.Microseconds()) }}}}
}

// postgresHistory returns the corresponding probes of PostgreSQL. They read a table of
// entries with an index on (account, id).
func (b *bench) postgresHistory(accounts int) ([]probe, error) {
	pg, err := b.postgresCluster()
	if pg == nil || err != nil {
		return nil, err
	}
	entries := 2 * b.history
	for _, statement := range []string{
		`CREATE TABLE entries (id bigserial PRIMARY KEY, account bigint NOT NULL, change bigint NOT NULL, balance bigint NOT NULL, at timestamptz NOT NULL DEFAULT now())`,
		fmt.Sprintf(`INSERT INTO entries (account, change, balance) SELECT CASE WHEN i %% %d = 0 THEN 1 ELSE 2 + floor(random() * %d)::bigint END, 1, i FROM generate_series(1, %d) i`,
			2*historyBusyShare, accounts-1, entries),
		`CREATE INDEX ON entries (account, id)`,
		`VACUUM ANALYZE entries`,
	} {
		if err := pg.psql(statement); err != nil {
			return nil, err
		}
	}
	anyone, busiest := fmt.Sprintf(`\set account random(2, %d)`, accounts), `\set account 1`
	newest := `SELECT * FROM entries WHERE account = :account ORDER BY id DESC LIMIT 100;`
	asOf := fmt.Sprintf("\\set id random(1, %d)\nSELECT balance FROM entries WHERE account = :account AND id <= :id ORDER BY id DESC LIMIT 1;", entries)
	var probes []probe
	for i, q := range [][2]string{{pgNewest, anyone + "\n" + newest}, {pgAsOf, anyone + "\n" + asOf}, {pgBusy, busiest + "\n" + newest}, {pgBusyAsOf, busiest + "\n" + asOf}} {
		script := filepath.Join(pg.dir, fmt.Sprintf("history-%d.sql", i))
		if err := os.WriteFile(script, []byte(q[1]+"\n"), 0o644); err != nil {
			return nil, err
		}
		var took []int
		at := func(share float64) float64 { return float64(took[int(share*float64(len(took)-1))]) }
		probes = append(probes, probe{name: p50(q[0]), unit: "µs", measure: func() (float64, error) {
			var err error
			if took, err = pg.latencies(script); err != nil {
				return 0, err
			}
			return at(0.5), nil
		}, more: []derived{{p99(q[0]), "µs", func() float64 { return at(0.99) }}}})
	}
	return probes, nil
}

// latencies runs a script with one client, and returns the time of each query,
// in microseconds, in ascending order.
func (pg *postgresCluster) latencies(script string) (took []int, err error) {
	prefix := filepath.Join(pg.dir, "latency")
	args := append(slices.Clone(pg.connect), "-n", "-M", "prepared", "-c", "1", "-T", strconv.Itoa(pg.b.seconds()), "-l", "--log-prefix="+prefix, "-f", script, "postgres")
	if _, err := pg.b.output(pg.command("pgbench", args...)); err != nil {
		return nil, err
	}
	logs, _ := filepath.Glob(prefix + ".*")
	for _, name := range logs {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			words := strings.Fields(lines.Text()) // client, number, time, …
			if len(words) < 3 {
				continue
			}
			if n, err := strconv.Atoi(words[2]); err == nil {
				took = append(took, n)
			}
		}
		f.Close()
		os.Remove(name)
	}
	if len(took) == 0 {
		return nil, fmt.Errorf("pgbench logged no query in %s", prefix)
	}
	slices.Sort(took)
	return took, nil
}
