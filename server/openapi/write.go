package openapi

import "assetledger/ledger"

const aboutWrite = `Accepts transactions for a ledger of containers, asset classes and balances. A transaction is a list of operations,
executed in order and atomically. The response is sent only after the commit is on stable storage.

JSON must be exact: an unknown or repeated field, a number with a fraction or exponent, or one outside its range is rejected, never guessed at.
Integers go up to 2^63-1: parse them without loss of precision. Every error has a JSON body, including those for unknown paths (404) and methods (405).`

var writeErrors = []int{400, 404, 409, 410, 412, 413, 415, 422, 500, 503}

var commitHeaders = []string{"X-Asset-Seq", "X-Asset-Idempotency"}

var writeOperations = map[string]operation{
	"POST /v1/commit": {id: "commit", tag: "Commits", summary: "Submit a transaction",
		about: "All operations are applied atomically, in order. The first that fails undoes those before it, and operation_index names it.",
		body:  "Transaction", answer: "CommitResult", headers: []string{"X-Idempotency-Key"}, answerHeaders: commitHeaders, errors: writeErrors},
	"POST /v1/commit/batch": {id: "commitBatch", tag: "Commits", summary: "Submit many transactions",
		about: "Each transaction succeeds or fails independently; the results come in order. This is the fastest way to submit many transactions in one request. Idempotency keys are in the transactions, not in a header.",
		body:  "Batch", answer: "BatchResult", answerHeaders: []string{"X-Asset-Seq"}, errors: []int{400, 413, 415, 500, 503}},
	"POST /v1/commit/stream": {id: "commitStream", tag: "Commits", summary: "Submit transactions one after another on one connection",
		about: "Full duplex: each line of the body is a transaction. Its result line is sent as soon as the transaction is durable, in the same order, while more lines are sent. " +
			"Each transaction succeeds or fails independently. The client must read while it sends. A response that ends without its final chunk was truncated: send the lines without a result again, with their idempotency keys, in a new stream.",
		body: "TransactionLines", bodyType: typeLines, answer: "ResultLines", answerType: typeLines, errors: []int{400, 415, 500, 503}},
	"POST /v1/commit/preflight": {id: "preflight", tag: "Commits", summary: "Check whether a transaction would be accepted",
		about: "Changes nothing. Any error is the one that the commit would have returned.",
		body:  "Transaction", answer: "PreflightResult", headers: []string{"X-Idempotency-Key"}, errors: writeErrors},
	"POST /v1/commit/{global_seq}/reverse": {id: "reverse", tag: "Commits", summary: "Reverse a commit",
		about: "Creates a new commit with the inverse operations, in reverse order. Nothing is erased. A commit can be reversed once. What has been spent or moved since then can't be reversed.",
		body:  "Reversal", answer: "CommitResult", headers: []string{"X-Idempotency-Key"}, answerHeaders: commitHeaders, errors: writeErrors},
	"POST /v1/commit/{global_seq}/reverse/preflight": {id: "preflightReversal", tag: "Commits", summary: "Check whether a commit could be reversed",
		about: "Changes nothing. Any error is the one that the reversal would have returned.",
		body:  "Reversal", answer: "ReversalPreflightResult", headers: []string{"X-Idempotency-Key"}, answerHeaders: []string{"X-Asset-Idempotency"}, errors: writeErrors},
	"POST /v1/register/class": {id: "registerClass", tag: "Registrations", summary: "Register an asset class",
		about: "A commit with a single operation, RegisterClass.",
		body:  "ClassRegistration", answer: "ClassResult", headers: []string{"X-Idempotency-Key"}, answerHeaders: commitHeaders, errors: writeErrors},
	"POST /v1/register/class-shape": {id: "registerClassShape", tag: "Registrations", summary: "Register the shape of a class in grids",
		about: "A commit with a single operation, RegisterClassShape. A class needs a shape before stacks or instances of it can be put in a Grid.",
		body:  "ShapeRegistration", answer: "ShapeResult", headers: []string{"X-Idempotency-Key"}, answerHeaders: commitHeaders, errors: writeErrors},
	"GET /v1/health": {id: "writeHealth", tag: "Operation", summary: "The health of the write daemon", answer: "WriteHealth", also: degraded("WriteHealth", "commits are rejected, this standby does not follow the log, the log has too few copies or too little space, or lag is beyond its bound"), errors: []int{500}},
	"GET /v1/livez":  probe("writeAlive", "Whether the daemon responds", "Alive"),
	"GET /v1/readyz": probe("writeReady", "Whether commits are accepted now", "Ready"),
	"GET /v1/metrics": {id: "writeMetrics", tag: "Operation", summary: "Metrics",
		answer: "Metrics", answerType: metricsType, errors: []int{500}},
	"GET /v1/openapi.json": {id: "writeOpenAPI", tag: "Operation", summary: "This document", answer: "OpenAPI", answerHeaders: []string{"ETag"}, also: notModified, errors: []int{500}},
}

// readersAttached and copies describe lists in the responses for health and status.
var (
	readersAttached = array(only("name", o("type", "string"), "checkpoint_seq", ref("Checkpoint"), "lag", ref("Count")), "The attached read daemons.")
	copies          = array(only("name", o("type", "string"), "seq", ref("Checkpoint"), "lag", ref("Count"), "url", o("type", "string")), "")
)

// typeLines is the media type of JSON values that each end with a newline.
const typeLines = "application/x-ndjson"

const metricsType = "text/plain; version=0.0.4; charset=utf-8"

var notModified = o("304", o("description", "Unchanged: If-None-Match still matches"))

// probe returns an operation for service managers and load balancers.
func probe(id, summary, schema string) operation {
	p := operation{id: id, tag: "Operation", summary: summary, answer: schema, errors: []int{500}}
	if schema == "Ready" {
		p.also = o("503", o("description", "Not ready: send requests elsewhere, or later", "headers", headerRefs("Retry-After"),
			"content", o("application/json", o("schema", ref("NotReady")))))
	}
	return p
}

// degraded returns the 503 response of a health route. The parameter why lists the
// possible reasons.
func degraded(schema, why string) object {
	return o("503", o("description", "Degraded: "+why, "headers", headerRefs("Retry-After"),
		"content", o("application/json", o("schema", ref(schema)))))
}

// result returns the schema of a commit result with more properties after its own.
func result(absent []string, more ...any) object {
	return optional(absent, append([]any{
		"global_seq", ref("Seq"),
		"batch_seq", integer(1, most, "The commit's position, from 1, among those made durable by one sync of the log."),
		"minted_instances", array(ref("Id"), "Instances that the commit minted, in order."),
		"metadata", described(ref("Metadata"), "The metadata of the request, with idempotency_key if it had one."),
	}, more...)...)
}

func writeSchemas() object {
	keyed := []any{"idempotency_key", ref("IdempotencyKey"), "metadata", ref("Metadata")}
	operations := o("type", "array", "items", ref("Operation"), "minItems", 1, "maxItems", 10_000)
	preflight := []any{"valid", o("type", "boolean", "const", true), "at_seq", ref("Checkpoint"), "minted_instances", array(ref("Id"), "The ids that the instances would have received.")}
	return o(
		"Transaction", optional([]string{"idempotency_key", "metadata", "reverses"}, append([]any{"operations", operations,
			"reverses", described(ref("Seq"), "For imports: the earlier commit that this one reverses. With an auth file it needs the scope admin.")}, keyed...)...),
		"Reversal", optional([]string{"idempotency_key", "metadata"}, keyed...),
		"CommitResult", result(nil),
		"Batch", optional([]string{"on_error"},
			"transactions", o("type", "array", "minItems", 1, "maxItems", 10_000,
				"items", o("description", "A Transaction. A malformed one fails without affecting the others.")),
			"on_error", o("type", "string", "enum", list{"continue", "stop"}, "default", "continue",
				"description", "stop: transactions after the first failure are not tried.")),
		"OneResult", o("oneOf", list{
			result([]string{"replayed"}, "replayed", o("type", "boolean", "const", true, "description", "Present if this repeats the first result of the idempotency key.")),
			only("error", ref("Error"))}),
		"BatchResult", only("results", array(ref("OneResult"), "One for each transaction, in order.")),
		"TransactionLines", o("type", "string", "description", "Lines, each a Transaction. Empty lines are ignored."),
		"ResultLines", o("type", "string", "description", "Lines, each a OneResult. When the daemon ends the stream, the last line is an error. It belongs to no line of the request and has lines_answered in its details, unless it is PayloadTooLarge, the result of a line that was too long."),
		"PreflightResult", only(preflight...),
		"ReversalPreflightResult", only(append(preflight, "operations", array(ref("Operation"),
			"The operations of the new commit; none if the idempotency key was used before."))...),
		"ClassRegistration", arguments(ledger.RegisterClass, keyed...),
		"ShapeRegistration", arguments(ledger.RegisterClassShape, keyed...),
		"ClassResult", result(nil, "class", optional([]string{"code"}, "class_id", ref("Id"), "code", reference(true), "name", argument(ledger.ArgName), "fungible", o("type", "boolean"), "decimals", argument(ledger.ArgDecimals))),
		"ShapeResult", result(nil, "shape", only("class_id", ref("Id"), "key", ref("ShapeKey"), "width", ref("Side"), "height", ref("Side"))),
		"WriteHealth", optional([]string{"role"}, "status", ref("HealthStatus"),
			"role", ref("Role"), "commit_log", optional([]string{"mirrors"},
				"end_seq", described(ref("Checkpoint"), "The last durable commit."),
				"checkpoint_seq", described(ref("Checkpoint"), "The last commit that the slowest attached read daemon has applied; 0 without one."),
				"lag", ref("Count"),
				"driver", only("name", o("type", "string"), "path", o("type", "string")),
				"readers", readersAttached,
				"mirrors", described(copies, "Copies of the log on other machines that have reported recently; absent if the log is in one directory and has no copies."))),
		"Role", o("type", "string", "enum", list{"writer", "standby"}, "description", "Of a write daemon whose log is on several machines."),
		"HealthStatus", o("type", "string", "enum", list{"healthy", "degraded"}),
	)
}
