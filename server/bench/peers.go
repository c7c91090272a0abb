package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Peers are other durable systems on the same machine. Each is configured to
// acknowledge only what is on disk.

// want installs a program's Debian package if the program is missing. It does so only
// with -install, as root, and if apt-get is available.
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
		// In runlevel 1, the package does not start its service.
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1")
		_, err := b.output(cmd)
		return err
	}
	if install() == nil {
		return
	}
	b.output(exec.Command("apt-get", "update", "-qq"))
	install() // if it is still absent, skip reports it
}

// freePort returns a port on which nothing listens.
func freePort() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	return port, err
}

// until calls the function try repeatedly until it succeeds, for at most 30 seconds.
// It returns an error if the process ends.
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

// seconds returns b.slice in whole seconds, at least one, for programs that
// accept only whole seconds.
func (b *bench) seconds() int { return max(1, int(b.slice.Seconds()+0.5)) }

// figure runs a command and returns the number that pattern finds in its
// output.
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

// unprivileged returns a user for programs that refuse to run as root, and
// makes it the owner of dir. It returns nil if this process is not root.
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

// A redisLoad is a number of clients. Each sends a pipeline of INCR commands before it
// waits for the responses.
type redisLoad struct{ clients, pipeline int }

func (l redisLoad) String() string {
	name := fmt.Sprintf("Redis INCR, appendfsync always, %d clients", l.clients)
	if l.pipeline > 1 {
		name += fmt.Sprintf(", pipeline of %d", l.pipeline)
	}
	return name
}

// redis starts a server that syncs its log before it responds. It returns a
// probe for each load, or nil if Redis is absent.
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
		each := 8_000 // requests a second, roughly, so that a run takes about one slice
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
