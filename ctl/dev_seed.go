package ctl

import (
	"bytes"
	"embed"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"assetledger/server/auth"
)

// Example transactions for a new ledger, one a line; see dev -seed.
//
//go:embed seeds/*.ndjson
var seeds embed.FS

// seedNames are the values of -seed.
const seedNames = "wallet, warehouse or inventory"

// seedLines returns the transactions of a seed.
func seedLines(name string) ([][]byte, error) {
	text, err := seeds.ReadFile("seeds/" + name + ".ndjson")
	if err != nil {
		return nil, usagef("-seed %s: need %s", name, seedNames)
	}
	return bytes.Split(bytes.TrimSpace(text), []byte{'\n'}), nil
}

// plant commits the seed into an empty ledger.
func (d *dev) plant(c *call) error {
	lines, err := seedLines(d.seed)
	if err != nil {
		return err
	}
	last, err := c.lastSeq()
	if err != nil {
		return err
	}
	if last > 0 {
		c.say("%s has %d commits already, so -seed adds none", d.dir, last)
		return nil
	}
	for i, line := range lines {
		if _, err := c.submit(request{Method: http.MethodPost, Base: c.writeURL, Path: "/v1/commit", Body: line}, true); err != nil {
			return fmt.Errorf("-seed %s, line %d: %w", d.seed, i+1, err)
		}
	}
	return nil
}

// A devToken is a client that dev -auth creates.
type devToken struct{ name, scopes, owners, token string }

// makeTokens writes an auth file with new tokens of three common kinds: for an
// operator, for a service of yours, and for an end user.
func (d *dev) makeTokens() (file string, tokens []devToken, err error) {
	tokens = []devToken{
		{name: "admin", scopes: "admin"},
		{name: "service", scopes: "commit,register,read"},
		{name: "user-501", scopes: "transfer,read", owners: "501"},
	}
	text := []byte("# made anew by each ledgerctl dev -auth\n")
	for i := range tokens {
		t := &tokens[i]
		t.token = auth.NewToken()
		e := auth.Entry{Name: t.name, Hash: auth.HashToken(t.token)}
		if e.Scopes, err = auth.ParseScopes(t.scopes); err == nil && t.owners != "" {
			e.Owners, err = auth.ParseOwners(t.owners)
		}
		if err != nil {
			return "", nil, err
		}
		text = append(append(text, e.String()...), '\n')
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return "", nil, err
	}
	file = filepath.Join(d.dir, "dev-auth")
	return file, tokens, os.WriteFile(file, text, 0o600)
}
