package mirror

import (
	"flag"
	"fmt"
	"os"

	"assetledger/server/httpclient"
)

// A Config names the daemons that a mirror copies from, and holds its credentials.
type Config struct {
	From      string // base URLs separated by commas; "": no mirror
	TokenFile string // file with the bearer token; "": use EnvToken, if set
	Trust     httpclient.Trust
}

// EnvToken is the environment variable for the token, if no file is set.
const EnvToken = "LEDGER_FROM_TOKEN"

// Flags defines a flag for every setting. Its default is the current value.
func (c *Config) Flags(set *flag.FlagSet) {
	set.StringVar(&c.From, "from", c.From, "`URLS` of daemons to copy the log from into -dir, separated by commas, for example http://ledger-1:8080,http://ledger-2:8081")
	c.AccessFlags(set, "the daemons of -from")
}

// AccessFlags defines the flags for access to other daemons. The help texts name these
// daemons with the phrase in the parameter daemons.
func (c *Config) AccessFlags(set *flag.FlagSet, daemons string) {
	c.Trust.Prefix = "from-"
	set.StringVar(&c.TokenFile, "from-token-file", c.TokenFile, "`FILE` with the token for "+daemons+"; it needs the scope log, for example /etc/ledger/from.token")
	set.StringVar(&c.Trust.CA, "from-ca", c.Trust.CA, "`FILE` with the root certificates, in PEM, of "+daemons+", for example /etc/ledger/ca.crt")
	set.StringVar(&c.Trust.Cert, "from-cert", c.Trust.Cert, "`FILE` with the client certificate, in PEM, for "+daemons+", for example /etc/ledger/from.crt")
	set.StringVar(&c.Trust.Key, "from-cert-key", c.Trust.Key, "`FILE` with the private key of -from-cert, in PEM, for example /etc/ledger/from.key")
}

// urls returns the base URLs without a trailing slash.
func (c *Config) urls() ([]string, error) { return httpclient.ParseURLs("from", c.From) }

// Check returns an error for the first invalid setting.
func (c *Config) Check() error {
	if c.From == "" {
		return c.CheckUnused("-from, which names the daemons")
	}
	urls, err := c.urls()
	if err != nil {
		return err
	}
	for _, base := range urls {
		if err := c.Trust.Fits(base); err != nil {
			return err
		}
	}
	return c.Trust.Check()
}

// CheckUnused returns an error for the first flag of AccessFlags that is set
// without the setting that it needs.
func (c *Config) CheckUnused(needs string) error {
	for _, one := range []struct{ name, value string }{
		{"from-token-file", c.TokenFile}, {"from-ca", c.Trust.CA}, {"from-cert", c.Trust.Cert}, {"from-cert-key", c.Trust.Key},
	} {
		if one.value != "" {
			return fmt.Errorf("-%s needs %s", one.name, needs)
		}
	}
	return nil
}

// CheckFiles reads the files of AccessFlags. Its error is a
// *httpclient.SettingError.
func (c *Config) CheckFiles() error {
	_, err := c.Trust.Transport("https:", 0)
	if err == nil {
		_, err = c.token()
	}
	return httpclient.AsSetting(err)
}

// token returns the token, or "" if there is none.
func (c *Config) token() (string, error) {
	if c.TokenFile == "" {
		token := os.Getenv(EnvToken)
		return token, httpclient.CheckToken(token, "in "+EnvToken)
	}
	return httpclient.ReadToken("from-token-file", c.TokenFile)
}
