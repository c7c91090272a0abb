package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"assetledger/ledger"
)

// maxFile is the maximum size of the file, in bytes.
const maxFile = 1 << 20

// A Principal is an authenticated client.
type Principal struct {
	Entry
	Sender []byte         // the name, to be stored in a transaction
	Permit *ledger.Permit // what its transactions may do; nil for everything
}

// A Table holds the clients of one version of the file. It never changes.
type Table struct {
	clients []Principal
	Mode    fs.FileMode // permissions of the file
}

// Load reads a file. If a line is invalid, the error names it.
func Load(path string) (*Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s is not a regular file of at most %d bytes", path, maxFile)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, err
	}
	err = whole(string(text))
	var t *Table
	if err == nil {
		t, err = Parse(string(text))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t.Mode = info.Mode()
	return t, nil
}

// whole returns an error if the text is empty or its last line has no line break, because
// it may have been cut short. The missing part of a line may be the one that limits a
// client, and an empty file would lock everyone out.
func whole(text string) error {
	if text == "" {
		return errors.New("the file is empty; a file without clients must have a comment, or an empty line")
	}
	if !strings.HasSuffix(text, "\n") {
		return fmt.Errorf("line %d: a line break is missing at the end: was the file cut short?", strings.Count(text, "\n")+1)
	}
	return nil
}

// Parse parses the text of a file.
func Parse(text string) (*Table, error) {
	t := &Table{}
	seen := map[[sha256.Size]byte]int{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		e, err := ParseEntry(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if at := seen[e.Hash]; at != 0 {
			return nil, fmt.Errorf("line %d: the same hash is on line %d: a credential has only one line", n, at)
		}
		seen[e.Hash] = n
		if len(t.clients) == MaxEntries {
			return nil, fmt.Errorf("line %d: more than %d credentials", n, MaxEntries)
		}
		t.clients = append(t.clients, newPrincipal(e))
	}
	return t, nil
}

func newPrincipal(e Entry) Principal {
	p := Principal{Entry: e, Sender: []byte(e.Name)}
	transfer := e.Scopes.Has(Transfer) && !e.Scopes.Has(Commit)
	if !e.Scopes.Has(Register) || transfer || e.Owners != nil {
		p.Permit = &ledger.Permit{Register: e.Scopes.Has(Register), Transfer: transfer, Owners: e.Owners}
	}
	return p
}

// Limited reports whether the client is limited to containers of certain owners.
func (p *Principal) Limited() bool { return p != nil && p.Owners != nil }

// Entries returns the credentials in the order of the file.
func (t *Table) Entries() []Entry {
	list := make([]Entry, len(t.clients))
	for i := range t.clients {
		list[i] = t.clients[i].Entry
	}
	return list
}

// Token returns the client with the token, or nil if there is none. It compares the
// token with every line in constant time, so that the time taken reveals nothing.
func (t *Table) Token(token string) *Principal {
	return t.find(sha256.Sum256([]byte(token)), false)
}

// Certificate returns the client with the certificate, given as DER bytes, or nil
// if there is none. The caller has already validated the certificate.
func (t *Table) Certificate(der []byte) *Principal {
	return t.find(sha256.Sum256(der), true)
}

func (t *Table) find(hash [sha256.Size]byte, cert bool) *Principal {
	found := -1
	for i := range t.clients {
		c := &t.clients[i]
		same := subtle.ConstantTimeCompare(c.Hash[:], hash[:])
		found = subtle.ConstantTimeSelect(same, i, found)
	}
	if found < 0 || t.clients[found].Cert != cert {
		return nil
	}
	return &t.clients[found]
}

// Again returns the client in this table that has the same credential as p, or nil
// if the credential has been removed.
func (t *Table) Again(p *Principal) *Principal { return t.find(p.Hash, p.Cert) }
