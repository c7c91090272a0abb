package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"

	"assetledger/ledger"
)

// Body returns a transaction as the request body of its endpoint: /v1/commit, a
// registration, or a reversal. If rng is not nil, the fields are in random order, with
// random whitespace between them.
func Body(tx *ledger.Transaction, rng *rand.Rand) []byte {
	var o object
	switch tx.Endpoint {
	case ledger.EndpointCommit:
		var ops []string
		for i := range tx.Ops {
			ops = append(ops, spellOp(&tx.Ops[i], rng))
		}
		o.add("operations", list(ops, rng))
		if tx.Reverses != 0 {
			o.add("reverses", strconv.FormatUint(tx.Reverses, 10))
		}
	case ledger.EndpointReverse: // the path has the commit
	default:
		o = arguments(&tx.Ops[0])
	}
	if len(tx.Key) > 0 {
		o.add("idempotency_key", quote(string(tx.Key)))
	}
	if len(tx.Metadata) > 0 {
		o.add("metadata", string(tx.Metadata))
	}
	return []byte(o.spell(rng))
}

func spellOp(op *ledger.Op, rng *rand.Rand) string {
	args := arguments(op).spell(rng)
	if op.Kind.InRequest() {
		var request object
		request.add("request", args)
		args = request.spell(rng)
	}
	var o object
	o.add("op", quote(op.Kind.String()))
	o.add("args", args)
	return o.spell(rng)
}

// arguments returns an object with the arguments that were given.
func arguments(op *ledger.Op) object {
	var o object
	for i, arg := range op.Kind.Args() {
		if op.Has&(1<<i) != 0 {
			o.add(arg.Name, argument(op, i, arg.Type))
		}
	}
	return o
}

func argument(op *ledger.Op, i int, t ledger.ArgType) string {
	switch {
	case op.Null&(1<<i) != 0:
		return "null"
	case isText(t), op.Ref&(1<<i) != 0 && t != ledger.ArgInstance:
		return quote(op.Text(i))
	case op.Ref&(1<<i) != 0:
		return fmt.Sprintf(`{"minted":%d}`, op.Args[i])
	case t == ledger.ArgKind:
		return quote(ledger.ContainerKind(op.Args[i]).String())
	case t == ledger.ArgBool, t == ledger.ArgFlag:
		return strconv.FormatBool(op.Args[i] == 1)
	}
	return strconv.FormatInt(op.Args[i], 10)
}

// object is a JSON object under construction, with each field as JSON text.
type object []string

func (o *object) add(name, value string) { *o = append(*o, quote(name)+":"+value) }

func (o object) spell(rng *rand.Rand) string {
	fields := append([]string(nil), o...)
	if rng != nil {
		rng.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	}
	return "{" + join(fields, rng) + "}"
}

func list(items []string, rng *rand.Rand) string { return "[" + join(items, rng) + "]" }

func join(items []string, rng *rand.Rand) string {
	var b bytes.Buffer
	for i, item := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		if rng != nil {
			b.WriteString([]string{"", " ", "\n", "\t\r\n  "}[rng.IntN(4)])
		}
		b.WriteString(item)
	}
	return b.String()
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return string(b)
}
