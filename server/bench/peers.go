package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Peers are other people's durable systems on the same machine, with their
// default settings for durability: nothing is answered before it is on disk.

// want makes sure that a program is there: it installs its Debian package when
// that is allowed and possible.
func (b *bench) want(program, pkg string) {
	if _, err := exec.LookPath(program); err == nil || !b.install || os.Getuid() != 0 {
		return
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return
	}
	fmt.Fprintf(os.Stderr, "bench: installing %s\n", pkg)
	install := func() error {
		cmd := exec.Command("apt-get", "install", "-y", "-qq", "--no-install-recommends", pkg)
		// A policy that refuses keeps the package from starting a service of its own.
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1")
		_, err := b.output(cmd)
		return err
	}
	if install() == nil {
		return
	}
	b.output(exec.Command("apt-get", "update", "-qq"))
	install() // if it is absent still, that is told as skipped
}

// freePort is a port that nobody listens on.
func freePort() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	return port, err
}

// until tries again until it works, or the process has ended.
func until(p *process, try func() error) error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := try()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended: %s", p.name, lastLine(p.said()))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

const postgresSchema = `
CREATE TABLE accounts (id bigint PRIMARY KEY, balance bigint NOT NULL CHECK (balance >= 0));
CREATE TABLE log (seq bigserial PRIMARY KEY, src bigint NOT NULL, dst bigint NOT NULL, amount bigint NOT NULL, at timestamptz NOT NULL DEFAULT now());
INSERT INTO accounts SELECT i, 1000000000000 FROM generate_series(1, 10000) i;
VACUUM ANALYZE accounts;
`

// Accounts are locked in one order, so that there are no deadlocks.
const postgresTransfer = `\set src random(1, 9999)
\set dst random(:src + 1, 10000)
BEGIN;
INSERT INTO log (src, dst, amount) VALUES (:src, :dst, 1);
UPDATE accounts SET balance = balance - 1 WHERE id = :src;
UPDATE accounts SET balance = balance + 1 WHERE id = :dst;
COMMIT;
`

// A postgresCluster is a fresh cluster that runs.
type postgresCluster struct {
	b       *bench
	dir     string
	command func(name string, args ...string) *exec.Cmd // one of its programs
	connect []string                                    // arguments
}

// psql runs a statement.
func (pg *postgresCluster) psql(sql string) error {
	_, err := pg.b.output(pg.command("psql", append(slices.Clone(pg.connect), "-q", "-v", "ON_ERROR_STOP=1", "-d", "postgres", "-c", sql)...))
	return err
}

// postgresCluster starts one; nil if PostgreSQL is absent.
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
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: as}
		return cmd
	}
	data := filepath.Join(dir, "data")
	if _, err := b.output(command("initdb", "-D", data, "-A", "trust", "-U", "bench")); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	server, err := b.startCmd(false, command("postgres", "-D", data, "-k", dir, "-h", "127.0.0.1", "-p", port))
	if err != nil {
		return nil, err
	}
	pg := &postgresCluster{b, dir, command, []string{"-h", "127.0.0.1", "-p", port, "-U", "bench"}}
	return pg, until(server, func() error { return pg.psql("SELECT 1") })
}

// postgres gives a probe of transfers for each count of clients.
func (b *bench) postgres(clients ...int) ([]probe, error) {
	pg, err := b.postgresCluster()
	if pg == nil || err != nil {
		return nil, err
	}
	for statement := range strings.SplitSeq(strings.TrimSpace(postgresSchema), "\n") {
		if err := pg.psql(statement); err != nil {
			return nil, err
		}
	}
	script := filepath.Join(b.dir, "transfer.sql")
	if err := os.WriteFile(script, []byte(postgresTransfer), 0o644); err != nil {
		return nil, err
	}
	var probes []probe
	for _, n := range clients {
		args := append(slices.Clone(pg.connect), "-n", "-M", "prepared", "-c", strconv.Itoa(n), "-j", "1", "-T", strconv.Itoa(b.seconds()), "-f", script, "postgres")
		probes = append(probes, probe{name: fmt.Sprintf("PostgreSQL, %d clients", n), unit: "tx/s", measure: func() (float64, error) {
			return b.figure(pg.command("pgbench", args...), `tps = ([0-9.]+)`)
		}})
	}
	return probes, nil
}

// seconds is the slice for programs that take whole seconds.
func (b *bench) seconds() int { return max(1, int(b.slice.Seconds()+0.5)) }

// figure runs a command and reads a number from what it prints.
func (b *bench) figure(cmd *exec.Cmd, pattern string) (float64, error) {
	out, err := b.output(cmd)
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(pattern).FindStringSubmatch(strings.ReplaceAll(out, "\r", "\n"))
	if found == nil {
		return 0, fmt.Errorf("%s printed no number: %s", filepath.Base(cmd.Path), lastLine(out))
	}
	return strconv.ParseFloat(found[1], 64)
}

// unprivileged is a user to run as what refuses to run as root, and owns dir;
// nil when we are not root.
func unprivileged(dir string) (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, uid, gid)
	}
	return nil, errors.New("it does not run as root, and there is no user postgres or nobody")
}

// etcd starts a single member and gives the load of puts through its gateway.
func (b *bench) etcd() (*load, error) {
	b.want("etcd", "etcd-server")
	path, err := exec.LookPath("etcd")
	if err != nil {
		b.skip("etcd", "not installed")
		return nil, nil
	}
	dir, err := os.MkdirTemp(b.dir, "etcd-")
	if err != nil {
		return nil, err
	}
	client, err := freePort()
	if err != nil {
		return nil, err
	}
	peer, err := freePort()
	if err != nil {
		return nil, err
	}
	url := "http://127.0.0.1:" + client
	server, err := b.start(false, path, "--data-dir", dir, "--listen-client-urls", url, "--advertise-client-urls", url,
		"--listen-peer-urls", "http://127.0.0.1:"+peer, "--log-level", "error")
	if err != nil {
		return nil, err
	}
	bodies := make([]string, variety)
	for i := range bodies {
		key := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "account-%d", i))
		bodies[i] = fmt.Sprintf(`{"key":"%s","value":"MTAwMDAwMDAwMDAwMA=="}`, key)
	}
	l := posts(url, "/v3/kv/put", bodies)
	return &l, until(server, func() error {
		resp, err := http.Post(url+"/v3/kv/put", "application/json", strings.NewReader(bodies[0]))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		io.Copy(io.Discard, resp.Body)
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return nil
	})
}

// A redisLoad is clients that each send so many INCR before they wait.
type redisLoad struct{ clients, pipeline int }

func (l redisLoad) String() string {
	name := fmt.Sprintf("Redis INCR, appendfsync always, %d clients", l.clients)
	if l.pipeline > 1 {
		name += fmt.Sprintf(", pipeline of %d", l.pipeline)
	}
	return name
}

// redis starts a server that syncs its log before it answers, and gives a
// probe for each load.
func (b *bench) redis(loads ...redisLoad) ([]probe, error) {
	b.want("redis-benchmark", "redis-server")
	path, err := exec.LookPath("redis-server")
	tool, toolErr := exec.LookPath("redis-benchmark")
	if err != nil || toolErr != nil {
		b.skip("Redis", "redis-server or redis-benchmark is not installed")
		return nil, nil
	}
	dir, err := os.MkdirTemp(b.dir, "redis-")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	server, err := b.start(false, path, "--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", "always")
	if err != nil {
		return nil, err
	}
	err = until(server, func() error {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			conn.Close()
		}
		return err
	})
	var probes []probe
	for _, l := range loads {
		each := 8_000 // requests a second, about, so that a run takes about a slice
		switch {
		case l.clients*l.pipeline > 1024:
			each = 600_000
		case l.clients*l.pipeline > 1:
			each = 50_000
		}
		probes = append(probes, probe{name: l.String(), unit: "op/s", measure: func() (float64, error) {
			return b.figure(exec.Command(tool, "-h", "127.0.0.1", "-p", port, "-c", strconv.Itoa(l.clients), "-P", strconv.Itoa(l.pipeline),
				"-n", strconv.Itoa(max(1000, int(float64(each)*b.slice.Seconds()))), "-r", "10000", "-t", "incr", "-q"),
				`INCR: ([0-9.]+) requests per second`)
		}})
	}
	return probes, err
}
