package ctl

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"assetledger/ctl/client"
	"assetledger/ledger"
	"assetledger/wal"
)

// withDecimals inserts the decimal point into an integer of minor units: "12345" and 2
// become "123.45". It works on the digits, so it is exact for any length. It returns other
// text unchanged.
func withDecimals(minor string, decimals int) string {
	if decimals <= 0 || !isInteger(minor) {
		return minor
	}
	sign := ""
	if strings.HasPrefix(minor, "-") {
		sign, minor = "-", minor[1:]
	}
	if missing := decimals + 1 - len(minor); missing > 0 {
		minor = strings.Repeat("0", missing) + minor
	}
	point := len(minor) - decimals
	return sign + minor[:point] + "." + minor[point:]
}

func isInteger(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

type classData struct {
	ClassID    int64 `json:"class_id"`
	Code, Name string
	Decimals   int
	Fungible   *bool // nil if the daemon does not report it
}

func (d *classData) label() string { return cmp.Or(d.Code, d.Name) }

func (d *classData) show(minor string) string { return withDecimals(minor, d.Decimals) }

// class returns a class by id or code. It keeps the classes that it has read, because the
// decimals never change.
func (c *call) class(ref string) (*classData, error) {
	if d, ok := c.classes[ref]; ok {
		return d, nil
	}
	if checkRef("CLASS", ref) != nil {
		return nil, notALedgers(c.readURL, "it has the class %q", ref)
	}
	class, path := &classData{}, "/v1/read/class/"+url.PathEscape(ref)
	if err := c.readFresh(path, class); err != nil {
		return nil, err
	}
	if d := class.Decimals; d < 0 || d > ledger.MaxDecimals {
		return nil, notALedgers(c.readURL+path, "it has a class with %d decimals", d)
	}
	if c.classes == nil {
		c.classes = map[string]*classData{}
	}
	c.classes[ref], c.classes[strconv.FormatInt(class.ClassID, 10)] = class, class
	return class, nil
}

// readFresh reads something that may have just been created, and decodes it into v. If it is
// not found, readFresh reads again after the read daemon has reached the end of the log.
func (c *call) readFresh(path string, v any) error {
	a, err := c.peek(path, nil)
	if err == nil && a.Status == http.StatusNotFound {
		var last int64
		if last, err = c.lastSeq(); err == nil {
			a, err = c.peek(path, url.Values{"min_seq": {strconv.FormatInt(last, 10)}})
		}
	}
	if err == nil {
		err = c.refusal(a)
	}
	if err != nil {
		return err
	}
	return a.data(v)
}

// shortfall describes an insufficient balance: how much is available and how much was
// requested, with decimals and the code of the class. It returns "" if the class can't
// be read, and for any other error.
func (c *call) shortfall(e *client.Refused) string {
	var d entry
	words := strings.Fields(e.Message)
	if e.Code != string(ledger.InsufficientBalance) || json.Unmarshal(e.Details, &d) != nil || len(words) < 2 {
		return ""
	}
	class := c.unit // for the error of a settlement, which does not name the class
	if id := d["class_id"]; id != nil {
		class = c.classSoon(string(id))
	}
	if class == nil {
		return ""
	}
	holder, stack := words[1], class.label()
	if isInteger(holder) {
		holder = "container " + holder
	}
	if key := string(d["key"]); key != "" && key != "0" {
		stack += " with key " + key
	}
	amount := func(name string) string { return class.show(string(d[name])) }
	switch {
	case d["available"] == nil:
		return fmt.Sprintf("hold %s holds %s %s, %s requested", words[1], amount("held"), stack, amount("requested"))
	case d["held"] == nil:
		return fmt.Sprintf("%s holds %s %s, %s requested", holder, amount("available"), stack, amount("requested"))
	}
	return fmt.Sprintf("%s has %s %s available, %s requested, %s held", holder, amount("available"), stack, amount("requested"), amount("held"))
}

// classSoon returns a class, or nil if it can't be read within two seconds. After one
// failure it always returns nil, so that an error message is not delayed again.
func (c *call) classSoon(id string) *classData {
	if c.noClass {
		return nil
	}
	quick := *c
	quick.timeout.Duration = min(c.timeout.Duration, 2*time.Second)
	quick.noClass = true // an error of this request is shown without its class
	class, err := quick.class(id)
	c.classes, c.noClass = quick.classes, err != nil
	return class
}

// toPeople rewrites an error for people: amounts have decimals, and the error of a verb
// has no operation index.
func (c *call) toPeople(e *client.Refused) {
	e.Message = cmp.Or(c.shortfall(e), e.Message)
	if c.made != nil {
		e.OperationIndex = nil
	}
	op, _, _ := strings.Cut(strings.Join(c.made, " "), " ")
	if next := cmp.Or(nextSteps[e.Code], nextSteps[e.Code+" "+op]); next != "" {
		e.Message = strings.TrimSuffix(e.Message, ".") + ": " + next
	}
}

// nextSteps has the advice for errors. It is found by the code alone or, for some codes, by
// the code and the operation of the verb.
var nextSteps = map[string]string{
	"UnregisteredClassShape":              "ledgerctl register shape CLASS WIDTHxHEIGHT registers one",
	"WrongClassKind MintInstance":         "ledgerctl register class CLASS -fungible=false registers one of instances",
	"WrongContainerKind PlaceInGrid":      "-slot SLOT puts it into a slot",
	"AlreadyPlaced AddFungible":           "-stack-key N creates a second stack",
	"AlreadyPlaced TransferFungible":      "omit -x and -y to add to it",
	"AlreadyPlaced PlaceInSlot":           takeOut,
	"AlreadyPlaced PlaceInGrid":           takeOut,
	"AlreadyPlaced Attach":                takeOut,
	"AlreadyAttached PlaceInSlot":         detach,
	"AlreadyAttached PlaceInGrid":         detach,
	"AlreadyAttached Attach":              detach,
	"WrongContainerKind RemoveFromSlot":   "-instance INSTANCE takes one out of a grid",
	"WrongContainerKind RemoveFromGrid":   "-slot SLOT takes one out of a slot",
	"WrongContainerKind TransferFungible": betweenSlots,
	"WrongClassKind TransferFungible":     betweenSlots,
}

const (
	takeOut      = "ledgerctl take CONTAINER with -slot SLOT or, in a grid, -instance INSTANCE"
	detach       = "ledgerctl detach INSTANCE"
	betweenSlots = "ledgerctl move FROM SLOT SLOT -other-container TO moves an instance between slots"
)

// sameLedger returns an error if the logs of the read daemon and of the write daemon have
// different ids: the decimals of an amount, which come from the read daemon, may then
// be wrong. It returns nil if an id can't be read. If that is because the token lacks the
// scope log, a dry run reports that the two were not compared.
func (c *call) sameLedger(dryRun bool) error {
	read, status := c.logID(c.readURL)
	write := read
	if status == http.StatusOK {
		write, status = c.logID(c.writeURL)
	}
	switch {
	case status == http.StatusOK && write != read:
		return usagef("-write-url %s and -read-url %s belong to different ledgers", c.writeURL, c.readURL)
	case status == http.StatusForbidden && dryRun:
		c.say("not checked: whether -write-url and -read-url, where the decimals come from, belong to the same ledger; the token lacks the scope log")
	}
	return nil
}

// logID returns the id of a daemon's log, or a status other than 200.
func (c *call) logID(base string) (id wal.LogID, status int) {
	ctx, cancel := context.WithTimeout(c.ctx, min(c.timeout.Duration, 2*time.Second))
	defer cancel()
	from := json.Number("1") // commit 1 is found without a search
	for range 2 {
		a, err := c.api.Do(ctx, request{Method: http.MethodGet, Base: base, Path: "/v1/log", Query: url.Values{"from": {from.String()}}, First: wal.StreamHeaderSize})
		if err != nil {
			return id, 0
		}
		if status = a.Status; status == http.StatusOK {
			var head wal.StreamHead
			if head.Parse(a.Body) != nil {
				return id, 0
			}
			return head.Segment.ID, status
		}
		var archived struct {
			First json.Number `json:"first_seq"`
		}
		if json.Unmarshal(a.Refused().Details, &archived) != nil || archived.First == "" {
			return id, status
		}
		from = archived.First // older commits are archived
	}
	return id, status
}
