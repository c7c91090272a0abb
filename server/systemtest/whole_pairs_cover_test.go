package systemtest

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"assetledger/ledger"
)

// unrecordable are the codes that no recorded exchange can show, with the reasons.
var unrecordable = map[ledger.Code]string{
	ledger.Internal:       "needs a defect in the ledger",
	ledger.LogUnavailable: "needs a disk that fails",
	ledger.Overloaded:     "needs more requests at once than the daemon takes",
	ledger.ShuttingDown:   "needs a daemon that is stopping",
	ledger.CommitArchived: "needs a log whose beginning is archived",

	ledger.RangeNotSatisfiable: "needs a checkpoint, which a fresh log does not have",
	ledger.NotTheWriter:        "needs a log on several machines",
}

// TestPairsCoverEverything fails if an operation, or an error code that is not in
// unrecordable, has no recorded exchange.
func TestPairsCoverEverything(t *testing.T) {
	codes, ops := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(pairsDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".txt" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, x := range parsePairs(t, path, string(text)) {
			codesIn(x.body, codes)
			if x.status == 200 && x.target == "/v1/commit" {
				opsIn(bytesToSend(t, x), ops)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range allCodes(t) {
		if why := unrecordable[code]; why == "" && !codes[string(code)] {
			t.Errorf("no exchange shows %s", code)
		} else if why != "" && codes[string(code)] {
			t.Errorf("an exchange shows %s, which is said to be impossible: %s", code, why)
		}
	}
	for _, kind := range ledger.OpKinds() {
		if !ops[kind.String()] {
			t.Errorf("no exchange shows %s accepted", kind)
		}
	}
}

// allCodes reads the codes from their declarations.
func allCodes(t *testing.T) (codes []ledger.Code) {
	t.Helper()
	source, err := os.ReadFile("../../ledger/code.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\s+\w+\s+Code = "(\w+)"$`).FindAllSubmatch(source, -1) {
		codes = append(codes, ledger.Code(m[1]))
	}
	if len(codes) < 40 {
		t.Fatalf("found only %d codes: are they declared differently now?", len(codes))
	}
	return codes
}

// codesIn collects every error code of a response, including those of a batch's
// results.
func codesIn(body string, codes map[string]bool) {
	for {
		_, rest, ok := strings.Cut(body, `"error":{"code":"`)
		if !ok {
			return
		}
		code, rest, _ := strings.Cut(rest, `"`)
		codes[code] = true
		body = rest
	}
}

func opsIn(body string, ops map[string]bool) {
	var tx struct {
		Operations []struct {
			Op string `json:"op"`
		} `json:"operations"`
	}
	if json.Unmarshal([]byte(body), &tx) == nil {
		for _, op := range tx.Operations {
			ops[op.Op] = true
		}
	}
}
