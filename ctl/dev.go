package ctl

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"assetledger/server"
	"assetledger/server/auth"
	"assetledger/server/reader"
	"assetledger/server/settings"
	"assetledger/server/writer"
	"assetledger/wal"
)

var devCommand = command{
	Words:   "dev",
	Args:    "[DIR]",
	Purpose: "run a whole ledger here: both daemons, and a line for each commit",
	Notes: "It prints the two addresses and that of the page, then a line for each commit, until Ctrl-C. Both\n" +
		"daemons run in this process; ledger-write and ledger-read are the same daemons as separate programs.\n" +
		"-auth creates three tokens and prints them: for an operator, for a service, and for the end user 501.\n" +
		"-memory is for tests of other projects: the log is in a new folder, which is deleted at the end.",
	Examples: [2]string{"dev -seed wallet", "dev -memory -auth -write-listen 127.0.0.1:0 -read-listen 127.0.0.1:0 -o json"},
	Setup: func(set *flag.FlagSet) action {
		d := &dev{seed: choice{of: []string{"wallet", "warehouse", "inventory"}}}
		set.StringVar(&d.dir, "dir", defaultDir, "`DIR` of the log; created if missing")
		set.Var(&d.seed, "seed", "fill a new ledger with the example `NAME`: wallet, warehouse or inventory")
		set.BoolVar(&d.auth, "auth", false, "require tokens, and print three new ones")
		set.BoolVar(&d.memory, "memory", false, "keep the log in a new folder that is deleted at the end")
		set.StringVar(&d.writeListen, "write-listen", "127.0.0.1:8080", "`ADDRESS` of the write daemon; port 0 for any")
		set.StringVar(&d.readListen, "read-listen", "127.0.0.1:8081", "`ADDRESS` of the read daemon; port 0 for any")
		return d.run
	},
}

// dev runs both daemons in this process:
//
//	check the addresses → start the write daemon → start the read daemon
//	→ show commits until a signal, or until a daemon ends → stop both daemons
type dev struct {
	dir, writeListen, readListen string
	seed                         choice
	auth, memory                 bool
	tokens                       []devToken // empty without -auth
}

func (d *dev) run(c *call) error {
	if d.memory && d.dir != defaultDir {
		return usagef("-memory uses its own folder: omit DIR")
	}
	if err := cmp.Or(free(d.writeListen, "write-listen"), free(d.readListen, "read-listen"), wal.NotPartOfLog(d.dir, wal.Options{})); err != nil {
		return err
	}
	if d.memory {
		dir, err := os.MkdirTemp("", "ledger-dev-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		d.dir = dir
	}
	server.TuneMemory()
	server.TuneProcessors()
	asked := server.SignalContext()
	ctx, cancel := context.WithCancel(asked)
	defer cancel()
	daemons := &inside{ctx: ctx, cancel: cancel, ended: make(chan error, 2)}
	err := d.serve(c, daemons)
	cancel()
	if ended := daemons.wait(); ended != nil {
		err = ended // the cause of err
	} else if asked.Err() != nil {
		return nil // the signal interrupted requests: ignore their errors
	}
	for cause, who := range map[error]string{wal.ErrLocked: "write daemon", wal.ErrNameTaken: "ledgerctl dev"} {
		if errors.Is(err, cause) {
			return fmt.Errorf("another %s uses %s: stop it, or use another directory with -dir", who, d.dir)
		}
	}
	return err
}

func (d *dev) serve(c *call, daemons *inside) error {
	log := slog.New(slog.NewTextHandler(c.words, &slog.HandlerOptions{Level: slog.LevelWarn}))
	authFile := ""
	if d.auth {
		// Check the lock before makeTokens replaces the tokens of a running ledgerctl dev.
		if taken, err := (wal.OS{}).Locked(filepath.Join(d.dir, "LOCK")); err == nil && taken {
			return wal.ErrLocked
		}
		var err error
		if authFile, d.tokens, err = d.makeTokens(); err != nil {
			return err
		}
		c.connecting.token = d.tokens[0].token
		c.api = newClient(&c.connecting, idle)
	}
	write := writer.DefaultConfig()
	write.Access.AuthFile = authFile
	write.Dir, write.Listen, write.Log = d.dir, d.writeListen, log
	c.writeURL = daemons.start(&write.Ready, func(ctx context.Context) error { return server.RunWrite(ctx, write) })
	if c.writeURL == "" {
		return nil // wait returns the reason
	}
	read := reader.DefaultConfig()
	read.Access.AuthFile = authFile
	read.Dir, read.Listen, read.Name, read.WriteURL, read.Log = d.dir, d.readListen, "dev", c.writeURL, log
	c.readURL = daemons.start(&read.Ready, func(ctx context.Context) error { return server.RunRead(ctx, read) })
	if c.readURL == "" {
		return nil
	}
	if d.seed.value != "" {
		if err := d.plant(c); err != nil {
			return err
		}
	}
	after, err := c.commits()
	if err == nil {
		err = c.awaitRead(after) // so that reads show all earlier commits
	}
	if err == nil {
		err = d.greet(c)
	}
	if err != nil {
		return err
	}
	return new(watch).follow(daemons.ctx, c, after)
}

func (d *dev) greet(c *call) error {
	page, tokens := "", map[string]string{}
	if a, err := c.peek("/", nil); err == nil && a.Status == http.StatusOK {
		page = c.readURL + "/"
	}
	if c.json() {
		facts := []fact{{"write_url", c.writeURL}, {"read_url", c.readURL}, {"page_url", page}, {"dir", d.dir}}
		for _, one := range d.tokens {
			tokens[one.name] = one.token
		}
		if d.auth {
			facts = append(facts, fact{"tokens", tokens})
		}
		c.writeObject(facts)
		return c.out.Flush()
	}
	t := c.newTable()
	t.row("write", c.writeURL)
	t.row("read", c.readURL)
	if page != "" {
		t.row("page", page)
	}
	t.row("log", d.dir)
	for _, one := range d.tokens {
		t.row("token", one.token, one.name, one.scopes)
	}
	t.flush()
	c.say("commits follow, one per line; Ctrl-C stops both daemons")
	return c.out.Flush()
}

// free returns an error if the address is in use. It is called before anything is created.
func free(address, flagName string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("%w: is a ledger already running? If not, give another address with -%s, or %s in the environment", err, flagName, settings.EnvName(flagName))
	}
	return l.Close()
}

// inside holds the daemons that run in this process. When one ends, all are stopped.
type inside struct {
	ctx     context.Context
	cancel  context.CancelFunc
	ended   chan error
	running int
}

// start starts a daemon that writes to *ready when it is ready. Then start returns its URL, or
// "" if it has ended.
func (i *inside) start(ready *io.Writer, run func(ctx context.Context) error) (url string) {
	r, w := io.Pipe()
	*ready = w
	i.running++
	go func() {
		err := run(i.ctx)
		i.cancel()
		w.Close()
		i.ended <- err
	}()
	line, _ := bufio.NewReader(r).ReadString('\n')
	go io.Copy(io.Discard, r)
	_, url, _ = strings.Cut(strings.TrimSpace(line), " ready on ")
	return url
}

func (i *inside) wait() error {
	var first error
	for ; i.running > 0; i.running-- {
		first = cmp.Or(first, <-i.ended)
	}
	return first
}

// seeds has example transactions for a new ledger, one per line; see dev -seed.
//
//go:embed seeds/*.ndjson
var seeds embed.FS

func (d *dev) plant(c *call) error {
	text, _ := seeds.ReadFile("seeds/" + d.seed.value + ".ndjson") // the flag has one of these names
	last, err := c.commits()
	if err != nil {
		return err
	}
	if last > 0 {
		c.say("%s already has %s, so -seed adds none", d.dir, count(last, "commit"))
		return nil
	}
	for i, line := range bytes.Split(bytes.TrimSpace(text), []byte{'\n'}) {
		if _, err := c.submit(request{Method: http.MethodPost, Base: c.writeURL, Path: "/v1/commit", Body: line}, true); err != nil {
			return fmt.Errorf("-seed %s, line %d: %w", d.seed.value, i+1, err)
		}
	}
	return nil
}

type devToken struct{ name, scopes, token string }

// makeTokens writes an auth file with new tokens of three common kinds: for an
// operator, for a service, and for an end user.
func (d *dev) makeTokens() (file string, tokens []devToken, err error) {
	text := []byte("# rewritten by each ledgerctl dev -auth\n")
	for _, e := range []auth.Entry{
		{Name: "admin", Scopes: auth.Admin},
		{Name: "service", Scopes: auth.Commit | auth.Register | auth.Read},
		{Name: "user-501", Scopes: auth.Transfer | auth.Read, Owners: []int64{501}},
	} {
		token := auth.NewToken()
		e.Hash = auth.HashToken(token)
		text = append(append(text, e.String()...), '\n')
		tokens = append(tokens, devToken{e.Name, e.Scopes.String(), token})
	}
	file = filepath.Join(d.dir, "dev-auth")
	if err = os.MkdirAll(d.dir, 0o700); err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	return file, tokens, err
}
