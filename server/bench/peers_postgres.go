package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

const postgresSchema = `
CREATE TABLE accounts (id bigint PRIMARY KEY, balance bigint NOT NULL CHECK (balance >= 0));
CREATE TABLE log (seq bigserial PRIMARY KEY, src bigint NOT NULL, dst bigint NOT NULL, amount bigint NOT NULL, at timestamptz NOT NULL DEFAULT now());
INSERT INTO accounts SELECT i, 1000000000000 FROM generate_series(1, 10000) i;
VACUUM ANALYZE accounts;
`

// Accounts are locked in ascending order, which prevents deadlocks.
const postgresTransfer = `\set src random(1, 9999)
\set dst random(:src + 1, 10000)
BEGIN;
INSERT INTO log (src, dst, amount) VALUES (:src, :dst, 1);
UPDATE accounts SET balance = balance - 1 WHERE id = :src;
UPDATE accounts SET balance = balance + 1 WHERE id = :dst;
COMMIT;
`

// A postgresCluster is a new, empty PostgreSQL cluster that is running.
type postgresCluster struct {
	b       *bench
	dir     string
	command func(name string, args ...string) *exec.Cmd // returns a command that runs one of its programs
	connect []string                                    // arguments for connecting
}

// psql runs a statement.
func (pg *postgresCluster) psql(sql string) error {
	_, err := pg.b.output(pg.command("psql", append(slices.Clone(pg.connect), "-q", "-v", "ON_ERROR_STOP=1", "-d", "postgres", "-c", sql)...))
	return err
}

// postgresCluster starts a cluster. It returns nil if PostgreSQL is absent, or if
// there is no unprivileged user that it can run as.
func (b *bench) postgresCluster() (*postgresCluster, error) {
	b.want("pgbench", "postgresql")
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(folders) == 0 {
		b.skip("PostgreSQL", "initdb is not installed")
		return nil, nil
	}
	bin := filepath.Dir(folders[len(folders)-1])
	dir, err := os.MkdirTemp(b.dir, "postgres-")
	if err != nil {
		return nil, err
	}
	as, err := unprivileged(dir)
	if err != nil {
		b.skip("PostgreSQL", err.Error())
		return nil, nil
	}
	pg := &postgresCluster{b: b, dir: dir, command: func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: as}
		return cmd
	}}
	data := filepath.Join(dir, "data")
	if _, err := b.output(pg.command("initdb", "-D", data, "-A", "trust", "-U", "bench")); err != nil {
		return nil, err
	}
	server, err := pg.serve(data)
	if err != nil {
		return nil, err
	}
	return pg, until(server, func() error { return pg.psql("SELECT 1") })
}

// serve starts a server on a data directory. Clients connect to the first server.
func (pg *postgresCluster) serve(data string) (*process, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	if pg.connect == nil {
		pg.connect = []string{"-h", "127.0.0.1", "-p", port, "-U", "bench"}
	}
	return pg.b.startCmd(false, pg.command("postgres", "-D", data, "-k", pg.dir, "-h", "127.0.0.1", "-p", port))
}

// standBy starts a standby. Each commit then waits until the standby has
// flushed it too (synchronous_commit = on).
func (pg *postgresCluster) standBy() error {
	data := filepath.Join(pg.dir, "standby")
	if _, err := pg.b.output(pg.command("pg_basebackup", append(slices.Clone(pg.connect), "-D", data, "-R", "-X", "stream", "-c", "fast")...)); err != nil {
		return err
	}
	server, err := pg.serve(data)
	if err != nil {
		return err
	}
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if err := pg.psql(sql); err != nil {
			return err
		}
	}
	return until(server, func() error { return pg.psql("SELECT 1 / count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") })
}

// postgres returns a probe of transfers for each number of clients, or nil if PostgreSQL
// can't run here.
func (b *bench) postgres(clients ...int) ([]probe, error) {
	pg, err := b.postgresCluster()
	if pg == nil || err != nil {
		return nil, err
	}
	return pg.transfers("PostgreSQL", clients...)
}

// transfers returns a probe for each number of clients. It creates the tables,
// so it may be called only once per cluster.
func (pg *postgresCluster) transfers(name string, clients ...int) ([]probe, error) {
	for statement := range strings.SplitSeq(strings.TrimSpace(postgresSchema), "\n") {
		if err := pg.psql(statement); err != nil {
			return nil, err
		}
	}
	script := filepath.Join(pg.b.dir, "transfer.sql")
	if err := os.WriteFile(script, []byte(postgresTransfer), 0o644); err != nil {
		return nil, err
	}
	var probes []probe
	for _, n := range clients {
		args := append(slices.Clone(pg.connect), "-n", "-M", "prepared", "-c", strconv.Itoa(n), "-j", "1", "-T", strconv.Itoa(pg.b.seconds()), "-f", script, "postgres")
		probes = append(probes, probe{name: fmt.Sprintf("%s, %d clients", name, n), unit: "tx/s", measure: func() (float64, error) {
			return pg.b.figure(pg.command("pgbench", args...), `tps = ([0-9.]+)`)
		}})
	}
	return probes, nil
}
