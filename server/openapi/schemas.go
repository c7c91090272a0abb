package openapi

import (
	"math"

	"assetledger/ledger"
)

func ref(name string) object { return o("$ref", "#/components/schemas/"+name) }

// integer returns the schema of a 64-bit integer from lowest to highest.
func integer(lowest, highest int64, about string) object {
	i := o("type", "integer", "format", "int64", "minimum", lowest, "maximum", highest)
	if about != "" {
		i = append(i, member{"description", about})
	}
	return i
}

// only returns the schema of an object that has all of these properties, and no others.
func only(properties ...any) object { return optional(nil, properties...) }

// optional returns the schema of an object with these properties and no others.
// The properties named in the parameter absent may be missing.
func optional(absent []string, properties ...any) object {
	var required list
	may := map[string]bool{}
	for _, name := range absent {
		may[name] = true
	}
	all := o(properties...)
	for _, m := range all {
		if !may[m.name] {
			required = append(required, m.name)
		}
	}
	schema := o("type", "object", "properties", all)
	if required != nil {
		schema = append(schema, member{"required", required})
	}
	return append(schema, member{"additionalProperties", false})
}

func array(of any, about string) object {
	a := o("type", "array", "items", of)
	if about != "" {
		a = append(a, member{"description", about})
	}
	return a
}

func described(schema object, about string) object {
	return append(append(object{}, schema...), member{"description", about})
}

const most = math.MaxInt64

// schemas returns all schemas that the two documents may use.
func schemas() object {
	all := append(valueSchemas(), operationSchemas()...)
	all = append(all, writeSchemas()...)
	all = append(all, readSchemas()...)
	all = append(all, logSchemas()...)
	return append(all, refusalSchemas()...)
}

func valueSchemas() object {
	counter := integer(0, most, "")
	return o(
		"Id", integer(1, most, "An identifier. Clients choose the ids of containers and classes or let the ledger assign them. The ledger assigns those of instances."),
		"ContainerName", nameOfAtMost(ledger.MaxContainerName, "A container's name, which can be used in place of its id."),
		"ClassCode", nameOfAtMost(ledger.MaxClassCode, "A class's code, which can be used in place of its id."),
		"IdOrName", o("oneOf", list{ref("Id"), ref("ContainerName")}, "description", "A container's id, or its name; in a path percent-encoded as one segment."),
		"IdOrCode", o("oneOf", list{ref("Id"), ref("ClassCode")}, "description", "A class's id, or its code; in a path percent-encoded as one segment."),
		"Key", integer(0, most, "Distinguishes stacks of a class in a container."),
		"Quantity", integer(1, most, "An amount in minor units. The class's decimals determine how to display it."),
		"Seq", integer(1, most, "A commit's place in the ledger's history."),
		"Checkpoint", integer(0, most, "The number of a commit, 0 before the first."),
		"Count", counter,
		"Total", o("type", "integer", "minimum", 0, "description", "A sum over the whole ledger. It may exceed 64 bits."),
		"Cell", integer(0, ledger.MaxSide-1, "A column or row of a grid, from 0."),
		"Side", integer(1, ledger.MaxSide, "A width or height in cells."),
		"Rotation", o("type", "integer", "enum", list{0, 90}, "description", "90: width and height of the shape are swapped."),
		"ContainerKind", o("type", "string", "enum", list{"Standard", "Slots", "Grid"}),
		"Owner", o("oneOf", list{ref("Id"), o("type", "null")}, "description", "The owner of a container; null for none."),
		"ShapeKey", o("oneOf", list{ref("Key"), o("type", "null")}, "description", "null: all keys without a shape of their own."),
		"IdempotencyKey", o("type", "string", "minLength", 1, "maxLength", 255, "pattern", "^[ -~]+$",
			"description", "The same idempotency key with the same request returns the first result again."),
		"Metadata", o("type", "object", "additionalProperties", true, "description", "Any JSON object up to 16 KiB. It is stored with the commit and returned as it was sent."),
		"Freshness", described(only("checkpoint_seq", ref("Checkpoint"), "commit_log_seq", ref("Checkpoint")),
			"checkpoint_seq is the last commit that the response reflects, commit_log_seq the last one that was durable at that time."),
		"NextCursor", o("type", "string", "description", "Present if there are more entries: pass it as cursor. It stays valid when the ledger changes."),
		"Alive", only("status", o("type", "string", "const", "alive")),
		"Ready", only("status", o("type", "string", "const", "ready")),
		"NotReady", only("status", o("type", "string", "const", "not_ready"), "reason", o("type", "string", "description", "Text for people.")),
		"Metrics", o("type", "string", "description", "Text exposition format 0.0.4."),
		"OpenAPI", o("type", "object", "description", "This document."),
		"Events", o("type", "string", "description", "An endless stream of server-sent events, one for each commit: its id is the commit's global_seq, "+
			"its data a Commit on one line. A comment every 15 s keeps a silent stream alive. Last-Event-ID resumes it."),
	)
}

// operationSchemas returns the schemas made from the ledger's table of operations.
func operationSchemas() object {
	var all object
	var kinds list
	for _, kind := range ledger.OpKinds() {
		name := kind.String()
		args := arguments(kind)
		if kind.InRequest() {
			args = only("request", args)
		}
		schema := only("op", o("type", "string", "const", name), "args", args)
		kinds = append(kinds, ref(name))
		all = append(all, member{name, schema})
	}
	return append(o("Operation", o("oneOf", kinds, "discriminator", o("propertyName", "op"))), all...)
}

// arguments returns the schema of an operation's arguments. The parameter more adds
// properties that may be missing.
func arguments(kind ledger.OpKind, more ...any) object {
	var properties []any
	var absent []string
	for _, arg := range kind.Args() {
		properties = append(properties, arg.Name, argument(arg.Type))
		if !arg.Required || arg.Type == ledger.ArgNewID {
			absent = append(absent, arg.Name)
		}
	}
	for i := 0; i < len(more); i += 2 {
		absent = append(absent, more[i].(string))
	}
	return optional(absent, append(properties, more...)...)
}

func argument(t ledger.ArgType) object {
	switch t {
	case ledger.ArgID, ledger.ArgNewID:
		return ref("Id")
	case ledger.ArgContainer, ledger.ArgClass:
		return idOr(t == ledger.ArgClass)
	case ledger.ArgContainerName, ledger.ArgContainerNameOrNull, ledger.ArgClassCode, ledger.ArgClassCodeOrNull:
		name := reference(t == ledger.ArgClassCode || t == ledger.ArgClassCodeOrNull)
		if t == ledger.ArgContainerNameOrNull || t == ledger.ArgClassCodeOrNull {
			return o("oneOf", list{name, o("type", "null")})
		}
		return name
	case ledger.ArgKey:
		return ref("Key")
	case ledger.ArgQuantity:
		return ref("Quantity")
	case ledger.ArgIndex:
		return integer(0, most, "A slot, or a column or row of a grid, from 0.")
	case ledger.ArgRotation:
		return ref("Rotation")
	case ledger.ArgSlotCount:
		return integer(1, ledger.MaxSlotCount, "Number of slots of the container; default 64.")
	case ledger.ArgSide:
		return ref("Side")
	case ledger.ArgInstance:
		return o("oneOf", list{ref("Id"), only("minted", integer(0, most, ""))},
			"description", "An instance's id, or the index, from 0, of an instance minted earlier in the same transaction.")
	case ledger.ArgKind:
		return ref("ContainerKind")
	case ledger.ArgOwner:
		return ref("Owner")
	case ledger.ArgShapeKey:
		return ref("ShapeKey")
	case ledger.ArgName:
		return o("type", "string", "minLength", 1, "maxLength", 128, "pattern", `^[^\u0000-\u001f\u007f-\u009f]+$`)
	case ledger.ArgBool:
		return o("type", "boolean", "default", true)
	case ledger.ArgFlag:
		return o("type", "boolean", "default", false)
	case ledger.ArgPeriod:
		return integer(1, ledger.MaxPeriod, "Seconds from the time of the commit.")
	case ledger.ArgTime:
		return integer(1, ledger.MaxTime, "Seconds since 1970.")
	case ledger.ArgDecimals:
		return integer(0, 18, "Number of digits of a quantity that are displayed after the decimal point; default 0.")
	}
	return o()
}

// reference returns the schema of a container's name, or of a class's code.
func reference(class bool) object {
	if class {
		return ref("ClassCode")
	}
	return ref("ContainerName")
}

// idOr returns the schema of a container's id or name, or of a class's id or code.
// Each alternative has a name, so that generators make a type for it.
func idOr(class bool) object {
	if class {
		return ref("IdOrCode")
	}
	return ref("IdOrName")
}

// nameOfAtMost returns the schema of a name or code with the given maximum length in
// characters. The pattern avoids lookahead, which RE2 lacks.
func nameOfAtMost(most int, about string) object {
	return o("type", "string", "minLength", 1, "maxLength", most, "pattern", `^([A-Za-z]|[0-9]+[A-Za-z._:/@+-])[A-Za-z0-9._:/@+-]*$`, "description", about)
}

func refusalSchemas() object {
	var codes list
	for _, code := range ledger.Codes() {
		codes = append(codes, string(code))
	}
	return o(
		"ErrorCode", o("type", "string", "enum", codes),
		"Error", optional([]string{"operation_index"},
			"code", ref("ErrorCode"),
			"message", o("type", "string", "description", "A message for people. Its wording may change."),
			"details", o("type", "object", "additionalProperties", o("oneOf", list{o("type", "integer", "format", "int64"), o("type", "string")}),
				"description", "The relevant identifiers and numbers."),
			"operation_index", integer(0, 9999, "Index of the operation that failed, from 0.")),
		"Refusal", optional([]string{"freshness"}, "error", ref("Error"), "freshness", ref("Freshness")),
	)
}
