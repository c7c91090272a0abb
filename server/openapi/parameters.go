package openapi

import "assetledger/ledger"

// The name of a parameter component begins with the place where the parameter
// is sent, such as query. Many generators have a single namespace for all
// components, in which a parameter named owner would clash with the schema
// Owner.
const (
	inQuery  = "query-"
	inHeader = "header-"
)

func query(name string, schema object, about string) member {
	return member{inQuery + name, o("name", name, "in", "query", "description", about, "schema", schema)}
}

func header(name string, schema object, about string) member {
	return member{inHeader + name, o("name", name, "in", "header", "description", about, "schema", schema)}
}

// parameters returns all query parameters and request headers, by name.
func parameters() object {
	duration := o("type", "string", "examples", list{"500ms", "10s"})
	moment := o("type", "string", "format", "date-time")
	return object{
		query("min_seq", ref("Checkpoint"), "Wait until this commit is applied. The response is 425 if that takes longer than `wait` allows, or at once if the commit is beyond the end of the log."),
		query("wait", duration, "Maximum time that min_seq may wait: a number with its unit; default 1s, at most 30s."),
		query("limit", o("type", "integer", "format", "int64", "minimum", 1, "default", 1000), "Maximum number of elements of a page. More than 10,000 means 10,000."),
		query("cursor", o("type", "string"), "The next_cursor of the previous page."),
		query("class_id", idOr(true), "Only stacks of this class, given by its id or code."),
		query("key", ref("Key"), "Only stacks or instances with this key."),
		query("container_id", idOr(false), "Only instances directly in this container, given by its id or name."),
		query("owner", ref("Id"), "Only containers of this owner."),
		query("kind", ref("ContainerKind"), "Only containers of this kind."),
		query("prefix", o("type", "string", "maxLength", ledger.MaxContainerName, "pattern", `^([A-Za-z0-9][A-Za-z0-9._:/@+-]*)?$`), "Only containers whose name begins with this; the list is then ordered by name."),
		query("x", ref("Count"), "First column of a rectangle."),
		query("y", ref("Count"), "First row of a rectangle."),
		query("width", ref("Id"), "Width of a rectangle in cells."),
		query("height", ref("Id"), "Height of a rectangle in cells."),
		query("after", ref("Checkpoint"), "Begin after this commit; default 0."),
		query("before", ref("Checkpoint"), "End before this commit."),
		query("order", o("type", "string", "enum", list{"oldest", "newest"}), "Which commits come first. The default is oldest for commits, newest for a history."),
		query("instance_id", ref("Id"), "Only changes to this instance."),
		query("from_seq", ref("Checkpoint"), "Begin at this commit."),
		query("to_seq", ref("Checkpoint"), "End with this commit."),
		query("from_time", moment, "Begin with the first commit made at this time or later."),
		query("to_time", moment, "End with the last commit made at this time or earlier."),
		query("payer", o("type", "boolean"), "Show the payer of a settled hold in the entry of the container that it paid."),
		query("at_seq", ref("Checkpoint"), "The response as of this commit; 0 is the empty ledger. It waits for the commit as min_seq does, and can't be combined with min_seq or at_time."),
		query("at_time", moment, "The response as of the last commit made at or before this time."),
		query("idempotency_key", ref("IdempotencyKey"), "Only the remembered commit with this idempotency key. It can be combined only with min_seq and wait."),
		query("from", ref("Seq"), "The commit to begin with: the batch that holds it comes first. At most the end of the log plus one. Required."),
		query("on_error", o("type", "string", "enum", list{"continue", "stop"}, "default", "continue"), "stop: lines read after the first failure are not tried, and the stream ends."),
		header("X-Asset-Min-Seq", ref("Checkpoint"), "The same as min_seq."),
		header("If-None-Match", o("type", "string"), "An ETag. The response is 304 if it still matches."),
		header("Last-Event-ID", ref("Checkpoint"), "Resume a stream of events after this one. Takes precedence over the query parameter `after`."),
		header("Range", o("type", "string"), "A single range of bytes. A header that is malformed or has several ranges is ignored, and everything is sent."),
		header("X-Asset-Mirror", o("type", "string"), "Sent by a mirror: its name, the older of its two checkpoints or 0, and its URL, separated by spaces. The mirror has synced all commits before `from`."),
		header("X-Idempotency-Key", ref("IdempotencyKey"), "The same as idempotency_key in the body; if both are given they must be equal."),
	}
}

// headers returns all headers of responses, by name.
func headers() object {
	return o(
		"X-Asset-Seq", o("description", "For a read, its checkpoint_seq. For a commit, its global_seq. For a batch, the highest global_seq in the response; absent if there is none.", "schema", ref("Checkpoint")),
		"X-Asset-Idempotency", o("description", "hit: the idempotency key was used before with the same request, and the response repeats the first result.", "schema", o("type", "string", "const", "hit")),
		"ETag", o("description", "Changes whenever the data of the response changes.", "schema", o("type", "string")),
		"Content-Range", o("description", "The range sent, and the total number of bytes.", "schema", o("type", "string")),
		"Retry-After", o("description", "Seconds to wait before a retry.", "schema", o("type", "integer", "minimum", 0)),
		"WWW-Authenticate", o("description", "Bearer, with the error, as in RFC 6750.", "schema", o("type", "string")),
	)
}
