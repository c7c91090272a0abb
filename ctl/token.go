package ctl

import (
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"assetledger/server/auth"
)

// The token commands read and edit the auth file of the daemons, on the same machine.

const reloadHint = "the daemons notice the change within a second"

type authFlags struct {
	file, scopes, owners, cert, to, hash string

	again bool
}

// action declares -auth-file, and returns an action that requires it.
func (a *authFlags) action(set *flag.FlagSet, run action) action {
	set.StringVar(&a.file, "auth-file", "", "`FILE` with the clients and their scopes: that of the daemons' -auth-file")
	return func(c *call) error {
		if a.file == "" {
			return usagef("-auth-file is required: give the file that the daemons use")
		}
		return run(c)
	}
}

var tokenNewCommand = command{
	Words:   "token new",
	Args:    "NAME",
	Purpose: "create a token and print it once",
	Notes: "The file has only the token's SHA-256, so the token can't be printed again. NAME is stored with\n" +
		"every commit. With -owners the client is limited to the containers of these owners. With -to the token is written\n" +
		"to a new file that only you can read. With -cert-file no token is created: the holder of that certificate is accepted.",
	Examples: [2]string{"token new shop -scopes commit,read -owners 7 -auth-file /etc/ledger/auth -to shop.token", "token new grafana -scopes metrics -auth-file /etc/ledger/auth"},
	Setup: func(set *flag.FlagSet) action {
		a := &authFlags{}
		set.StringVar(&a.scopes, "scopes", "commit,register,read", "`SCOPES`, separated by commas: commit, transfer, register, read, metrics, log, admin")
		set.StringVar(&a.owners, "owners", "", "limit the client to containers of these `OWNERS`, separated by commas")
		set.StringVar(&a.cert, "cert-file", "", "accept the holder of the certificate in this `FILE`, in PEM, instead of a token")
		set.StringVar(&a.to, "to", "", "write the token to this new `FILE`, mode 0600, instead of printing it")
		set.BoolVar(&a.again, "again", false, "add another token to NAME; to rotate, create a new one, hand it out, and revoke the old one by -hash")
		return a.action(set, a.create)
	},
}

func (a *authFlags) create(c *call) (err error) {
	e := auth.Entry{Name: c.args[0]}
	if err := auth.CheckName(e.Name); err != nil {
		return usagef("%v", err)
	}
	if e.Scopes, err = auth.ParseScopes(a.scopes); err != nil {
		return usagef("-scopes: %v", err)
	}
	if a.owners != "" {
		if e.Owners, err = auth.ParseOwners(a.owners); err != nil {
			return usagef("-owners: %v", err)
		}
	}
	if a.cert != "" && a.to != "" {
		return usagef("-to is for a token, but -cert-file creates none")
	}
	if a.cert != "" {
		e.Cert = true
		if e.Hash, err = certificateHash(a.cert); err == nil {
			err = auth.Add(a.file, e, a.again, nil)
		}
	} else {
		err = a.issue(c, e)
	}
	if errors.Is(err, auth.ErrTaken) {
		return usagef("%s already has a credential: choose another name, or use -again to add one", e.Name)
	}
	if err != nil {
		return fmt.Errorf("%w; no token was added", err)
	}
	c.say("%s can now use: %s; %s", e.Name, e.Scopes, reloadHint)
	return nil
}

// issue creates a token for an entry, and prints it before it adds the entry to the file:
// a token must not become valid if it could not be printed.
func (a *authFlags) issue(c *call, e auth.Entry) error {
	token, made := auth.NewToken(), false
	e.Hash = auth.HashToken(token)
	err := auth.Add(a.file, e, a.again, func() error {
		if a.to == "" {
			fmt.Fprintln(c.out, token)
			return c.out.Flush()
		}
		f, err := os.OpenFile(a.to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		made = true
		_, err = fmt.Fprintln(f, token)
		return errors.Join(err, f.Sync(), f.Close())
	})
	if err != nil && made {
		os.Remove(a.to) // its token is not valid
	}
	return err
}

func certificateHash(path string) (hash [sha256.Size]byte, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return hash, err
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			return sha256.Sum256(block.Bytes), nil
		}
	}
	return hash, usagef("-cert-file %s contains no PEM certificate", path)
}

var tokenListCommand = command{
	Words:    "token list",
	List:     true,
	Purpose:  "list the clients and their permissions",
	Notes:    "A token is identified by the first digits of its SHA-256; the file does not contain the token.",
	Examples: [2]string{"token list -auth-file /etc/ledger/auth", "token list -auth-file /etc/ledger/auth -o json"},
	Setup: func(set *flag.FlagSet) action {
		a := &authFlags{}
		return a.action(set, a.list)
	},
}

func (a *authFlags) list(c *call) error {
	table, err := auth.Load(a.file)
	if err != nil {
		return err
	}
	row, end := c.list("name kind hash scopes owners")
	for _, e := range table.Entries() {
		kind, owners := "token", any(e.Owners)
		if e.Cert {
			kind = "cert"
		}
		if e.Owners == nil && !c.json() {
			owners = "any"
		}
		row(e.Name, kind, fmt.Sprintf("%x", e.Hash[:6]), strings.Split(e.Scopes.String(), ","), owners)
	}
	end()
	return nil
}

var tokenRevokeCommand = command{
	Words:    "token revoke",
	Args:     "NAME",
	Purpose:  "revoke a client's credentials",
	Notes:    "It removes all tokens and certificates of NAME from the file or, with -hash, those whose hashes begin with the given digits.",
	Examples: [2]string{"token revoke shop -auth-file /etc/ledger/auth", "token revoke shop -hash 1f0c9a -auth-file /etc/ledger/auth"},
	Setup: func(set *flag.FlagSet) action {
		a := &authFlags{}
		set.StringVar(&a.hash, "hash", "", "only credentials whose hashes begin with these `DIGITS`, as token list shows them")
		return a.action(set, a.revoke)
	},
}

func (a *authFlags) revoke(c *call) error {
	out, err := auth.Revoke(a.file, c.args[0], strings.ToLower(a.hash))
	if errors.Is(err, auth.ErrNobody) {
		return fmt.Errorf("%s has no such token or certificate: token list shows the existing ones", c.args[0])
	}
	if err != nil {
		return err
	}
	c.say("%s of %s revoked; %s", count(len(out), "credential"), c.args[0], reloadHint)
	return nil
}
