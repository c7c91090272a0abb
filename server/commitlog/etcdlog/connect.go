package etcdlog

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"assetledger/server/etcd"
)

// A Connection holds the settings for connecting and authenticating to a cluster.
type Connection struct {
	URL      string // etcd://HOST:PORT[,HOST:PORT…]/PREFIX
	CA       string // file of the CA certificates for the members, as PEM; "" for plain text
	Cert     string // file of this client's certificate, as PEM
	Key      string // file of its private key, as PEM
	UserFile string // file with user:password on its first line
}

// Scheme is the prefix of the URL of a log in etcd.
const Scheme = "etcd://"

// ParseURL splits the URL of a log into the addresses of the members and the prefix
// of its keys. The prefix begins with a slash. An error omits what is before the last @,
// since that may be a password.
func ParseURL(text string) (endpoints []string, prefix string, err error) {
	rest, ok := strings.CutPrefix(text, Scheme)
	hosts, prefix, slash := strings.Cut(rest, "/")
	prefix = strings.TrimRight(prefix, "/")
	shown := text
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		shown = "…" + text[at:]
	}
	if !ok || !slash || prefix == "" || hosts == "" {
		return nil, "", fmt.Errorf("%q is not etcd://HOST:PORT[,HOST:PORT…]/PREFIX", shown)
	}
	for _, r := range prefix {
		if r <= ' ' || r == 0x7f || r == '\ufffd' {
			return nil, "", fmt.Errorf("the prefix of %q has an unprintable character", shown)
		}
	}
	for _, host := range strings.Split(hosts, ",") {
		name, port, err := net.SplitHostPort(host)
		n, bad := strconv.ParseUint(port, 10, 16)
		if err != nil || name == "" || bad != nil || n == 0 || strings.ContainsAny(host, "@?#") {
			return nil, "", fmt.Errorf("an address in %q is not HOST:PORT", shown)
		}
		endpoints = append(endpoints, host)
	}
	return endpoints, "/" + prefix, nil
}

// Check returns an error if the settings are invalid. It reads no files.
func (c *Connection) Check() error {
	if _, _, err := ParseURL(c.URL); err != nil {
		return fmt.Errorf("-driver: %w", err)
	}
	switch {
	case (c.Cert == "") != (c.Key == ""):
		return errors.New("-driver-cert and -driver-key must be given together: the certificate, and its private key")
	case c.Cert != "" && c.CA == "":
		return errors.New("-driver-cert needs -driver-ca: client certificates are part of TLS")
	}
	return nil
}

// Connect returns a driver for the cluster. It reads the certificate and password
// files; the driver connects on its first call.
func (c *Connection) Connect() (*Driver, error) {
	endpoints, prefix, err := ParseURL(c.URL)
	if err != nil {
		return nil, err
	}
	conf := etcd.Config{Endpoints: endpoints}
	if c.CA != "" {
		if conf.TLS, err = c.tls(); err != nil {
			return nil, err
		}
	}
	if c.UserFile != "" {
		b, err := os.ReadFile(c.UserFile)
		if err != nil {
			return nil, fmt.Errorf("-driver-user: %w", err)
		}
		line, _, _ := strings.Cut(string(b), "\n")
		user, password, ok := strings.Cut(strings.TrimRight(line, "\r"), ":")
		if !ok || user == "" {
			return nil, fmt.Errorf("-driver-user: the first line of %s is not user:password", c.UserFile)
		}
		conf.User, conf.Password = user, password
	}
	return &Driver{API: etcd.NewClient(conf), Prefix: prefix, Where: c.URL}, nil
}

func (c *Connection) tls() (*tls.Config, error) {
	pem, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, fmt.Errorf("-driver-ca: %w", err)
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	if !conf.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("-driver-ca: %s contains no PEM certificate", c.CA)
	}
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, fmt.Errorf("-driver-cert, -driver-key: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return conf, nil
}

// DefaultName returns the default name of the daemon that clients reach at a URL.
func DefaultName(at string) string {
	if u, err := url.Parse(at); err == nil && u.Host != "" {
		return u.Host
	}
	host, _ := os.Hostname()
	return host
}

const (
	leastVersion = "3.4"
	leastQuota   = 1 << 30 // bytes; a smaller quota causes a warning
)

// probe checks, as far as that is possible in advance, that the cluster can store a log.
func (d *Driver) probe(ctx context.Context) error {
	var s etcd.Status
	err := d.insist(ctx, func() (err error) {
		s, err = d.API.Status(ctx)
		return err
	})
	switch {
	case etcd.Refused(err):
		return fmt.Errorf("etcd rejects this client: %w: give it a user with -driver-user, or a certificate with -driver-cert and -driver-key", err)
	case err != nil:
		return fmt.Errorf("no member of %s responds: %w: check the addresses, that etcd is running, and -driver-ca, which is for clusters with TLS only", d.Where, err)
	case older(s.Version, leastVersion):
		return fmt.Errorf("etcd at %s is version %s; %s or newer is needed", d.Where, s.Version, leastVersion)
	}
	for _, a := range s.Alarms {
		d.logger().Warn("etcd has an alarm", "alarm", a)
	}
	if s.Quota != 0 && s.Quota < leastQuota {
		d.logger().Warn("the quota of etcd is small; see docs/ops.md", "quota_bytes", s.Quota, "flag", "--quota-backend-bytes 8589934592")
	}
	id, granted := int64(0), int64(0)
	if err := d.insist(ctx, func() (err error) {
		id, granted, err = d.API.Grant(ctx, max(2, int64(d.lease()/time.Second)))
		return err
	}); errors.Is(err, etcd.ErrNoSpace) {
		d.logger().Warn("etcd is full and grants no leases, so this daemon can only stand by; see docs/ops.md", "error", err)
	} else if err != nil {
		return fmt.Errorf("etcd grants no lease: %w", err)
	} else {
		d.API.Revoke(ctx, id)
	}
	if least := time.Duration(granted) * time.Second; least > d.lease() {
		d.logger().Warn("etcd grants longer leases than requested, so a takeover takes longer", "asked", d.lease(), "granted", least)
	}
	if _, err := (&site{Driver: d}).readHead(ctx); err != nil {
		return fmt.Errorf("reading %s in etcd: %w: the user needs to read and write all keys below %s/", d.headKey(), err, d.Prefix)
	}
	return nil
}

// older reports whether a version is older than the required one. It compares only
// the major and minor version numbers.
func older(version, least string) bool {
	var a, b [2]int
	if n, _ := fmt.Sscanf(version, "%d.%d", &a[0], &a[1]); n < 2 {
		return false // unknown version
	}
	fmt.Sscanf(least, "%d.%d", &b[0], &b[1])
	return a[0] < b[0] || a[0] == b[0] && a[1] < b[1]
}
