package ctl

import (
	"errors"
	"strings"

	"assetledger/server/httpclient"
)

// connecting holds the addresses of the daemons and the credentials.
type connecting struct {
	ca        string // file of roots
	cert, key string // files of a client certificate and its key
	tokenFile string
	token     string // of the environment, or read from the file
}

// envToken is the environment variable for a token. There is no flag for it,
// because everyone on a machine can see the flags of a program.
const envToken = "LEDGER_TOKEN"

// load reads the token, and checks which settings are combined.
func (o *connecting) load(env func(string) (string, bool)) (err error) {
	trust := o.trust()
	if err := trust.Check(); err != nil {
		return asUsage(err)
	}
	if o.tokenFile == "" {
		o.token, _ = env(envToken)
		return asUsage(httpclient.CheckToken(o.token, "in "+envToken))
	}
	o.token, err = httpclient.ReadToken("token-file", o.tokenFile)
	return asUsage(err)
}

// asUsage turns an invalid setting into wrong usage.
func asUsage(err error) error {
	if bad, ok := errors.AsType[*httpclient.SettingError](err); ok {
		return usagef("%v", bad)
	}
	return err
}

func (o *connecting) trust() httpclient.Trust {
	return httpclient.Trust{CA: o.ca, Cert: o.cert, Key: o.key}
}

// addresses returns the addresses in a base URL, which may be several with commas.
func addresses(base string) []string { return strings.Split(base, ",") }
