package ctl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"

	"assetledger/server/httpclient"
)

// connecting is how ledgerctl reaches the daemons, and as whom.
type connecting struct {
	ca        string // file of roots
	cert, key string // files of a client certificate and its key
	tokenFile string
	token     string // of the environment, or read from the file
}

// envToken is the environment variable that a token may come from. There is
// no flag for it: everyone on a machine can see the flags of a program.
const envToken = "LEDGER_TOKEN"

// load reads the token, and judges what goes together.
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

// asUsage makes a setting that can't be right wrong usage.
func asUsage(err error) error {
	if bad, ok := errors.AsType[*httpclient.SettingError](err); ok {
		return usagef("%v", bad)
	}
	return err
}

func (o *connecting) trust() httpclient.Trust {
	return httpclient.Trust{CA: o.ca, Cert: o.cert, Key: o.key}
}

// client makes the client for one base address, which keeps some idle connections.
func (o *connecting) client(base string, idle int) (*http.Client, error) {
	trust := o.trust()
	transport, err := trust.Transport(base, idle)
	if err != nil {
		return nil, asUsage(err)
	}
	return &http.Client{Transport: transport, CheckRedirect: httpclient.NoRedirect}, nil
}

// distrust says in words why TLS came to nothing, "" if it was not that.
func distrust(err error) string {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var alert tls.AlertError
	switch {
	case errors.As(err, &unknown):
		return "its certificate is not signed by anyone trusted here: -ca names the file of who signed it"
	case errors.As(err, &host), errors.As(err, &invalid):
		return "its certificate can't be trusted: " + err.Error()
	case errors.As(err, &alert):
		return "it does not accept this client's certificate (" + alert.Error() + "): see -cert and -cert-key"
	}
	return ""
}
