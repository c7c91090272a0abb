package openapi

import "assetledger/ledger"

const aboutWrite = `Accepts transactions for a ledger of containers, asset classes and balances. A transaction is a list of operations,
executed in order, all or nothing; its answer is sent when the commit is on stable storage.

JSON must be exact: an unknown or repeated field, a number with a fraction or exponent, or one outside its range is refused, never guessed at.
Integers go up to 2^63-1: read them with a parser that keeps them whole. Every error has a JSON body, also those of unknown paths (404) and methods (405).`

var writeErrors = []int{400, 404, 409, 410, 412, 413, 415, 422, 500, 503}

var commitHeaders = []string{"X-Asset-Seq", "X-Asset-Idempotency"}

var writeOperations = map[string]operation{
	"POST /v1/commit": {id: "commit", tag: "Commits", summary: "Submit a transaction",
		about: "The operations run in order, all or nothing: the first that fails undoes those before it, and operation_index names it.",
		body:  "Transaction", answer: "CommitResult", headers: []string{"X-Idempotency-Key"}, answerHeaders: commitHeaders, errors: writeErrors},
	"POST /v1/commit/batch": {id: "commitBatch", tag: "Commits", summary: "Submit many transactions",
		about: "Each stands or falls alone; the results come in order. This is the fast way to submit many. Idempotency keys stand in the transactions, not in a header.",
		body:  "Batch", answer: "BatchResult", answerHeaders: []string{"X-Asset-Seq"}, errors: []int{400, 413, 415, 500, 503}},
	"POST /v1/commit/stream": {id: "commitStream", tag: "Commits", summary: "Submit transactions one after another on one connection",
		about: "Full duplex: each line of the body is a transaction, and each has a result line as soon as it is durable, in the same order, while more lines are sent. " +
			"Each stands or falls alone. The client must read while it sends. An answer that ends without its final chunk was cut: send the lines without a result again, with their idempotency keys, in a new stream.",
		body: "TransactionLines", bodyType: typeLines, answer: "ResultLines", answerType: typeLines, errors: []int{400, 415, 500, 503}},
	"POST /v1/commit/preflight": {id: "preflight", tag: "Commits", summary: "Ask whether a transaction would be accepted",
		about: "Changes nothing. A refusal is the one that the commit would have got.",
		body:  "Transaction", answer: "PreflightResult", headers: []string{"X-Idempotency-Key"}, errors: writeErrors},
	"POST /v1/commit/{global_seq}/reverse": {id: "reverse", tag: "Commits", summary: "Take a commit back",
		about: "Makes a new commit of the inverse operations, in reverse order. Nothing is erased. A commit can be reversed once. What was spent or moved meanwhile can't be taken back.",
		body:  "Reversal", answer: "CommitResult", headers: []string{"X-Idempotency-Key"}, answerHeaders: commitHeaders, errors: writeErrors},
	"POST /v1/register/class": {id: "registerClass", tag: "Registrations", summary: "Register an asset class",
		about: "A commit of one operation RegisterClass.",
		body:  "ClassRegistration", answer: "ClassResult", headers: []string{"X-Idempotency-Key"}, answerHeaders: commitHeaders, errors: writeErrors},
	"POST /v1/register/class-shape": {id: "registerClassShape", tag: "Registrations", summary: "Register the shape of a class in grids",
		about: "A commit of one operation RegisterClassShape. A class needs a shape before anything of it is put in a Grid.",
		body:  "ShapeRegistration", answer: "ShapeResult", headers: []string{"X-Idempotency-Key"}, answerHeaders: commitHeaders, errors: writeErrors},
	"GET /v1/health": {id: "writeHealth", tag: "Operation", summary: "Whether writes can be relied on", answer: "WriteHealth", also: degraded("WriteHealth"), errors: []int{500}},
	"GET /v1/livez":  probe("writeAlive", "Whether the daemon answers at all", "Alive"),
	"GET /v1/readyz": probe("writeReady", "Whether commits would be taken now", "Ready"),
	"GET /v1/metrics": {id: "writeMetrics", tag: "Operation", summary: "Metrics",
		answer: "Metrics", answerType: metricsType, errors: []int{500}},
	"GET /v1/openapi.json": {id: "writeOpenAPI", tag: "Operation", summary: "This document", answer: "OpenAPI", answerHeaders: []string{"ETag"}, also: notModified, errors: []int{500}},
}

// typeLines is the media type of JSON values with a newline after each.
const typeLines = "application/x-ndjson"

const metricsType = "text/plain; version=0.0.4; charset=utf-8"

var notModified = o("304", o("description", "What If-None-Match names still holds"))

// probe is an operation for those who start, stop and choose daemons.
func probe(id, summary, schema string) operation {
	p := operation{id: id, tag: "Operation", summary: summary, answer: schema, errors: []int{500}}
	if schema == "Ready" {
		p.also = o("503", o("description", "Not ready: send requests elsewhere, or later", "headers", headerRefs("Retry-After"),
			"content", o("application/json", o("schema", ref("NotReady")))))
	}
	return p
}

// degraded is the 503 of a health answer.
func degraded(schema string) object {
	return o("503", o("description", "Degraded: the log can't be written or read, or lag is beyond its bound", "headers", headerRefs("Retry-After"),
		"content", o("application/json", o("schema", ref(schema)))))
}

// result is a commit result with more properties after its own.
func result(absent []string, more ...any) object {
	return optional(absent, append([]any{
		"global_seq", ref("Seq"),
		"batch_seq", integer(1, most, "The commit's place, from 1, among those made durable by one sync of the log."),
		"minted_instances", array(ref("Id"), "Instances that the commit made, in order."),
		"metadata", described(ref("Metadata"), "That of the request, and idempotency_key when it carried one."),
	}, more...)...)
}

func writeSchemas() object {
	keyed := []any{"idempotency_key", ref("IdempotencyKey"), "metadata", ref("Metadata")}
	operations := o("type", "array", "items", ref("Operation"), "minItems", 1, "maxItems", 10_000)
	return o(
		"Transaction", optional([]string{"idempotency_key", "metadata", "reverses"}, append([]any{"operations", operations,
			"reverses", described(ref("Seq"), "For imports: the earlier commit that this one takes back. It needs the scope admin where the daemon asks.")}, keyed...)...),
		"Reversal", optional([]string{"idempotency_key", "metadata"}, keyed...),
		"CommitResult", result(nil),
		"Batch", optional([]string{"on_error"},
			"transactions", o("type", "array", "minItems", 1, "maxItems", 10_000,
				"items", o("description", "A Transaction. One of the wrong shape fails alone.")),
			"on_error", o("type", "string", "enum", list{"continue", "stop"}, "default", "continue",
				"description", "stop: transactions after the first failure are not tried.")),
		"OneResult", o("oneOf", list{
			result([]string{"replayed"}, "replayed", o("type", "boolean", "const", true, "description", "There when an idempotency key gave the first result again.")),
			only("error", ref("Error"))}),
		"BatchResult", only("results", array(ref("OneResult"), "One for each transaction, in order.")),
		"TransactionLines", o("type", "string", "description", "Lines, each a Transaction. Empty lines are passed over."),
		"ResultLines", o("type", "string", "description", "Lines, each a OneResult. When the daemon ends the stream, the last line is an error that answers no other line and has lines_answered in its details."),
		"PreflightResult", only("valid", o("type", "boolean", "const", true), "at_seq", ref("Checkpoint"), "minted_instances", array(ref("Id"), "The ids that it would have got.")),
		"ClassRegistration", arguments(ledger.RegisterClass, keyed...),
		"ShapeRegistration", arguments(ledger.RegisterClassShape, keyed...),
		"ClassResult", result(nil, "class", optional([]string{"code"}, "class_id", ref("Id"), "code", reference(true), "name", argument(ledger.ArgName), "fungible", o("type", "boolean"), "decimals", argument(ledger.ArgDecimals))),
		"ShapeResult", result(nil, "shape", only("class_id", ref("Id"), "key", ref("ShapeKey"), "width", ref("Side"), "height", ref("Side"))),
		"WriteHealth", optional([]string{"role"}, "status", ref("HealthStatus"),
			"role", o("type", "string", "enum", list{"writer", "standby"}, "description", "Of a log on several machines."), "commit_log", optional([]string{"mirrors"},
				"end_seq", described(ref("Checkpoint"), "The last durable commit."),
				"checkpoint_seq", described(ref("Checkpoint"), "The last commit that the slowest attached read daemon has applied; 0 without one."),
				"lag", ref("Count"),
				"driver", only("name", o("type", "string"), "path", o("type", "string")),
				"readers", array(only("name", o("type", "string"), "checkpoint_seq", ref("Checkpoint"), "lag", ref("Count")), "The read daemons attached."),
				"mirrors", array(only("name", o("type", "string"), "seq", ref("Checkpoint"), "lag", ref("Count"), "url", o("type", "string")), "Copies of the log on other machines that have reported lately; absent if the log is in one directory and nobody copies it."))),
		"HealthStatus", o("type", "string", "enum", list{"healthy", "degraded"}),
	)
}
