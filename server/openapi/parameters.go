package openapi

import "assetledger/ledger"

// Components of parameters begin with where they stand: many generators give
// all components one space of names, in which owner would be the schema Owner.
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

// parameters are all query parameters and request headers, by name.
func parameters() object {
	duration := o("type", "string", "examples", list{"500ms", "10s"})
	moment := o("type", "string", "format", "date-time")
	return object{
		query("min_seq", ref("Checkpoint"), "Wait until this commit is applied; 425 if that takes longer than wait, and at once if it is beyond the end of the log."),
		query("wait", duration, "How long min_seq may wait: a number with its unit, 1s unless given, at most 30s."),
		query("limit", o("type", "integer", "format", "int64", "minimum", 1, "default", 1000), "Most elements of a page. More than 10,000 is taken as 10,000."),
		query("cursor", o("type", "string"), "The next_cursor of the page before."),
		query("class_id", idOr(true), "Only stacks of this class, given by its id or code."),
		query("key", ref("Key"), "Only stacks or instances of this key."),
		query("container_id", idOr(false), "Only instances directly in this container, given by its id or name."),
		query("owner", ref("Id"), "Only containers of this owner."),
		query("kind", ref("ContainerKind"), "Only containers of this kind."),
		query("prefix", o("type", "string", "maxLength", ledger.MaxContainerName, "pattern", `^([A-Za-z0-9][A-Za-z0-9._:/@+-]*)?$`), "Only containers with a name that begins so; the list is then by name."),
		query("x", ref("Count"), "First column of a rectangle."),
		query("y", ref("Count"), "First row of a rectangle."),
		query("width", ref("Id"), "Width of a rectangle in cells."),
		query("height", ref("Id"), "Height of a rectangle in cells."),
		query("after", ref("Checkpoint"), "Begin after this commit; 0 unless given."),
		query("before", ref("Checkpoint"), "End before this commit."),
		query("order", o("type", "string", "enum", list{"oldest", "newest"}), "Which commits come first: oldest of commits, newest of a history, unless given."),
		query("instance_id", ref("Id"), "Only changes of this instance."),
		query("from_seq", ref("Checkpoint"), "Begin at this commit."),
		query("to_seq", ref("Checkpoint"), "End with this commit."),
		query("from_time", moment, "Begin with what was committed at this time."),
		query("to_time", moment, "End with what was committed at this time."),
		query("at_seq", ref("Checkpoint"), "The answer as it was right after this commit; 0 is the empty ledger. It waits for the commit as min_seq does, and goes with neither min_seq nor at_time."),
		query("at_time", moment, "The answer as it was after the last commit made at or before this time."),
		query("idempotency_key", ref("IdempotencyKey"), "Only the remembered commit of this key. It goes with no other parameter but min_seq and wait."),
		query("from", ref("Seq"), "The commit to begin with: the batch that holds it comes first. At most one behind the end of the log. Required."),
		query("on_error", o("type", "string", "enum", list{"continue", "stop"}, "default", "continue"), "stop: lines read after the first failure are not tried, and the stream ends."),
		header("X-Asset-Min-Seq", ref("Checkpoint"), "The same as min_seq."),
		header("If-None-Match", o("type", "string"), "An ETag: 304 if the answer is still that one."),
		header("Last-Event-ID", ref("Checkpoint"), "Resume a stream of events after this one; goes before the parameter after."),
		header("Range", o("type", "string"), "One range of bytes. Others are ignored, and the whole is sent."),
		header("X-Asset-Mirror", o("type", "string"), "Of a mirror: its name, the older of its two checkpoints or 0, and its URL, with a space between them. It has synced what is before from."),
		header("X-Idempotency-Key", ref("IdempotencyKey"), "The same as idempotency_key in the body; if both are given they must be equal."),
	}
}

// headers are all headers of answers, by name.
func headers() object {
	return o(
		"X-Asset-Seq", o("description", "Of a read: its checkpoint_seq. Of a commit: its global_seq; of a batch the highest in the answer, absent without a commit.", "schema", ref("Checkpoint")),
		"X-Asset-Idempotency", o("description", "hit: this is the first result of the same key and request.", "schema", o("type", "string", "const", "hit")),
		"ETag", o("description", "Changes whenever the answer's data does.", "schema", o("type", "string")),
		"Content-Range", o("description", "Which bytes of how many.", "schema", o("type", "string")),
		"Retry-After", o("description", "Seconds to wait before another try.", "schema", o("type", "integer", "minimum", 0)),
		"WWW-Authenticate", o("description", "Bearer, and what was wrong, as in RFC 6750.", "schema", o("type", "string")),
	)
}
