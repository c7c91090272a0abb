package writer

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"assetledger/server/commitlog"
	"assetledger/server/commitlog/etcdlog"
	"assetledger/server/httpserver"
	"assetledger/server/mirror"
	"assetledger/wal"
)

// A LogConfig selects the driver of the log, and holds the settings of a log on
// several machines.
type LogConfig struct {
	Name      string // "file", or etcd://HOST:PORT[,HOST:PORT…]/PREFIX
	Etcd      etcdlog.Connection
	Advertise string // URL at which clients reach this daemon; "" for the listen address
	Standby   bool   // stand by if another daemon writes
	// Peers has the credentials for the other daemons of the log. Its From is not
	// used.
	Peers mirror.Config
}

const driverFile = "file"

func (c *LogConfig) flags(set *flag.FlagSet) {
	set.StringVar(&c.Name, "driver", c.Name, "where the log is kept: file (in -dir alone), or the `URL` etcd://HOST:PORT,HOST:PORT/PREFIX (-dir then holds this host's copy); see docs/ops.md")
	set.StringVar(&c.Etcd.CA, "driver-ca", c.Etcd.CA, "`FILE` with the root certificates of etcd's members, in PEM; without it the connection is not encrypted, for example /etc/ledger/etcd-ca.crt")
	set.StringVar(&c.Etcd.Cert, "driver-cert", c.Etcd.Cert, "`FILE` with the client certificate for etcd, in PEM, for example /etc/ledger/etcd.crt")
	set.StringVar(&c.Etcd.Key, "driver-key", c.Etcd.Key, "`FILE` with the private key of -driver-cert, in PEM, for example /etc/ledger/etcd.key")
	set.StringVar(&c.Etcd.UserFile, "driver-user", c.Etcd.UserFile, "`FILE` whose first line is user:password for etcd, for example /etc/ledger/etcd-user")
	set.StringVar(&c.Advertise, "advertise", c.Advertise, "`URL` at which clients reach this daemon, announced to the other daemons of its log (default: the listen address), for example http://10.0.0.1:8080")
	set.BoolVar(&c.Standby, "standby", c.Standby, "with etcd: stand by while another daemon writes; -standby=false exits with code 4 instead")
	c.Peers.AccessFlags(set, "the other daemons of the log in etcd, from which an old or empty -dir is filled")
}

func (c *LogConfig) check() error {
	if u, err := url.Parse(c.Advertise); c.Advertise != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("-advertise %q is not a URL that begins with http:// or https://", c.Advertise)
	}
	if c.Name == driverFile || c.Name == "" {
		switch {
		case c.Etcd.CA != "", c.Etcd.Cert != "", c.Etcd.Key != "", c.Etcd.UserFile != "":
			return fmt.Errorf("-driver-ca, -driver-cert, -driver-key and -driver-user need -driver %s…", etcdlog.Scheme)
		}
		return c.Peers.CheckUnused("-driver " + etcdlog.Scheme + "…, because it is for requests to the other daemons of that log")
	}
	c.Etcd.URL = c.Name
	if err := c.Etcd.Check(); err != nil {
		return err
	}
	return c.Peers.Trust.Check()
}

// driver returns the driver of the log.
func (c *Config) driver() (commitlog.Driver, error) {
	opt := wal.Options{SegmentSize: c.SegmentSize, OnNotice: func(text string) { c.Log.Warn(text) }}
	switch c.LogDriver.Name {
	case "", driverFile:
		if c.Driver != nil {
			return c.Driver, nil
		}
		return commitlog.File{Dir: c.Dir, Opt: opt}, nil
	}
	c.LogDriver.Etcd.URL = c.LogDriver.Name
	d, err := c.LogDriver.Etcd.Connect()
	if err == nil {
		err = c.LogDriver.Peers.CheckFiles()
	}
	if err != nil {
		return nil, httpserver.Usage(err)
	}
	d.URL = c.LogDriver.Advertise
	if d.URL == "" {
		d.URL = c.ownURL()
	}
	d.Dir, d.Opt, d.Log, d.Name = c.Dir, opt, c.Log, etcdlog.DefaultName(d.URL)
	d.Fill = func(ctx context.Context, w *wal.Writer, urls []string, upTo uint64) error {
		from := c.LogDriver.Peers
		// If trust settings are given, use only the URLs that they fit, unless they
		// fit none: the log must not be read in plain text if another daemon may
		// serve it over TLS.
		if safe := slices.DeleteFunc(slices.Clone(urls), func(at string) bool { return from.Trust.Fits(at) != nil }); len(safe) > 0 {
			urls = safe
		}
		from.From = strings.Join(urls, ",")
		if err := from.Check(); err != nil {
			return err
		}
		source, err := mirror.NewSource(from, c.Log, nil)
		if err != nil {
			return err
		}
		return source.Fill(ctx, c.Dir, opt, w, upTo)
	}
	return d, nil
}

// ownURL returns the listen address as a URL.
func (c *Config) ownURL() string {
	scheme := "http"
	if c.Access.TLSCert != "" {
		scheme = "https"
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return c.Listen // Unix socket
	}
	return scheme + "://" + c.Listen
}
