package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"assetledger/ledger"
)

// Limits of the file.
const (
	MaxEntries = 1000 // credentials; every request is compared with all of them
	MaxOwners  = 64   // owners of one client
	maxName    = 64
)

// An Entry is one credential and its client.
type Entry struct {
	Name   string
	Cert   bool              // Hash is that of a client certificate; otherwise of a token
	Hash   [sha256.Size]byte // the credential itself is never stored
	Scopes Scope
	Owners []int64 // ascending; nil if not limited
}

// ParseEntry parses a line that is neither empty nor a comment.
func ParseEntry(line string) (e Entry, err error) {
	words := strings.Fields(line)
	if len(words) < 3 {
		return e, fmt.Errorf("a line has a name, sha256: or cert: with a hash, scopes, and optionally owners=")
	}
	e.Name = words[0]
	if err := CheckName(e.Name); err != nil {
		return e, err
	}
	digits, token := strings.CutPrefix(words[1], "sha256:")
	if !token {
		digits, e.Cert = strings.CutPrefix(words[1], "cert:")
	}
	hash, err := hex.DecodeString(digits)
	if !token && !e.Cert || err != nil || len(hash) != len(e.Hash) || digits != strings.ToLower(digits) {
		return e, fmt.Errorf("the second word must be sha256: or cert: and 64 lower-case hexadecimal digits")
	}
	copy(e.Hash[:], hash)
	if e.Scopes, err = ParseScopes(words[2]); err != nil {
		return e, err
	}
	for _, word := range words[3:] {
		list, ok := strings.CutPrefix(word, "owners=")
		if !ok || e.Owners != nil {
			return e, fmt.Errorf("unexpected word %q: only owners= may follow the scopes, once", word)
		}
		if e.Owners, err = ParseOwners(list); err != nil {
			return e, err
		}
	}
	return e, e.check()
}

func (e *Entry) check() error {
	if e.Owners != nil && e.Scopes.Has(Admin) {
		return fmt.Errorf("%s has the scope admin, which permits everything and can't be limited to owners", e.Name)
	}
	return nil
}

// CheckName returns an error if name is not valid.
func CheckName(name string) error {
	strange := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	}
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, strange) {
		return fmt.Errorf("a name is 1 to %d letters, digits, dots, underscores and hyphens, not %q", maxName, name)
	}
	if name == ledger.PrincipalLedger {
		return fmt.Errorf("the name %s is reserved for commits that the ledger makes itself: choose another", name)
	}
	return nil
}

// ParseOwners parses owners separated by commas, each from 1 to 2^63-1, and sorts
// them.
func ParseOwners(text string) ([]int64, error) {
	var owners []int64
	for word := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseInt(word, 10, 64)
		if err != nil || v < 1 || word[0] == '+' || word[0] == '0' {
			return nil, fmt.Errorf("an owner is an integer from 1 to %d, not %q", int64(math.MaxInt64), word)
		}
		owners = append(owners, v)
	}
	slices.Sort(owners)
	if owners = slices.Compact(owners); len(owners) > MaxOwners {
		return nil, fmt.Errorf("%d owners are more than the %d that one client may have", len(owners), MaxOwners)
	}
	return owners, nil
}

// String returns the entry as a line of the file.
func (e *Entry) String() string {
	form := "sha256:"
	if e.Cert {
		form = "cert:"
	}
	line := e.Name + " " + form + hex.EncodeToString(e.Hash[:]) + " " + e.Scopes.String()
	if e.Owners != nil {
		line += " owners=" + OwnersText(e.Owners)
	}
	return line
}

// OwnersText returns the owners separated by commas.
func OwnersText(owners []int64) string {
	var text []byte
	for i, owner := range owners {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, owner, 10)
	}
	return string(text)
}
