package mirror

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"strings"

	"assetledger/server/httpclient"
)

// maxSources bounds the URLs of one mirror.
const maxSources = 16

// A Config says from which daemons a mirror copies, and as whom it comes.
type Config struct {
	From      string // base URLs with commas; "": there is no mirror
	TokenFile string // of the bearer token; "": that of the environment, if there is one
	Trust     httpclient.Trust
}

// EnvToken is the environment variable that a token may come from.
const EnvToken = "LEDGER_FROM_TOKEN"

// Flags makes a flag for every setting, whose default is the present value.
func (c *Config) Flags(set *flag.FlagSet) {
	c.Trust.Prefix = "from-"
	set.StringVar(&c.From, "from", c.From, "`URLS` of daemons to copy the log from into -dir, with commas, for example http://ledger-1:8080,http://ledger-2:8081")
	set.StringVar(&c.TokenFile, "from-token-file", c.TokenFile, "`FILE` with the token that the daemons of -from ask for; it needs the scope log, for example /etc/ledger/from.token")
	set.StringVar(&c.Trust.CA, "from-ca", c.Trust.CA, "`FILE` with the root certificates of the daemons of -from, in PEM, for example /etc/ledger/ca.crt")
	set.StringVar(&c.Trust.Cert, "from-cert", c.Trust.Cert, "`FILE` with the client certificate for the daemons of -from, in PEM, for example /etc/ledger/from.crt")
	set.StringVar(&c.Trust.Key, "from-cert-key", c.Trust.Key, "`FILE` with the private key of -from-cert, in PEM, for example /etc/ledger/from.key")
}

// urls are the base URLs, without a slash at the end.
func (c *Config) urls() (list []string, err error) {
	for text := range strings.SplitSeq(c.From, ",") {
		text = strings.TrimRight(strings.TrimSpace(text), "/")
		if path, ok := strings.CutPrefix(text, "unix:"); ok && path != "" {
			list = append(list, text)
			continue
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("-from %q: each address is http://host:port, https://host:port or unix:/path, with commas between them", text)
		}
		list = append(list, text)
	}
	if len(list) > maxSources {
		return nil, fmt.Errorf("-from has %d addresses, at most %d", len(list), maxSources)
	}
	return list, nil
}

// Check returns an error for the first setting that can't be right.
func (c *Config) Check() error {
	if c.From == "" {
		for _, more := range []struct{ name, value string }{
			{"from-token-file", c.TokenFile}, {"from-ca", c.Trust.CA}, {"from-cert", c.Trust.Cert}, {"from-cert-key", c.Trust.Key},
		} {
			if more.value != "" {
				return fmt.Errorf("-%s needs -from, the daemons that it is for", more.name)
			}
		}
		return nil
	}
	if _, err := c.urls(); err != nil {
		return err
	}
	return c.Trust.Check()
}

// token reads the token, "" for none.
func (c *Config) token() (string, error) {
	if c.TokenFile == "" {
		token := os.Getenv(EnvToken)
		return token, httpclient.CheckToken(token, "in "+EnvToken)
	}
	return httpclient.ReadToken("from-token-file", c.TokenFile)
}
