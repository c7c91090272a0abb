package openapi

const typeBytes = "application/octet-stream"

// withLog adds the routes by which other machines copy the log. Both daemons
// have them; prefix makes their ids differ from those of the other daemon.
func withLog(prefix string, operations map[string]operation) map[string]operation {
	operations["GET /v1/log"] = operation{id: prefix + "Log", tag: "Log", summary: "The log itself, as an endless stream of bytes",
		about: "The log, beginning with the batch that holds the commit `from`: a header of 64 bytes, then frames as they are on disk, and a heartbeat of 64 bytes each second. " +
			"Only durable frames are sent. HEAD returns where the log ends. ledger-read -from uses it; docs/format.md describes the bytes.",
		headers: []string{"X-Asset-Mirror"}, answer: "Bytes", answerType: typeBytes, answerHeaders: []string{"X-Asset-Seq"}, errors: []int{400, 410, 425, 500, 503}}
	operations["GET /v1/checkpoints"] = operation{id: prefix + "Checkpoints", tag: "Log", summary: "The checkpoints of the log, oldest first",
		answer: "Checkpoints", errors: []int{400, 500, 503}}
	operations["GET /v1/checkpoints/{seq}"] = operation{id: prefix + "Checkpoint", tag: "Log", summary: "A checkpoint, as bytes",
		about: "The state of the ledger after a commit. It never changes, so an interrupted download can be resumed with Range.", headers: []string{"Range"},
		answer: "Bytes", answerType: typeBytes, answerHeaders: []string{"X-Asset-Seq"}, errors: []int{400, 404, 416, 500, 503},
		also: o("206", o("description", "The requested range", "headers", headerRefs("Content-Range"), "content", o(typeBytes, o("schema", ref("Bytes")))))}
	return operations
}

func logSchemas() object {
	return o(
		"Bytes", o("type", "string", "description", "Bytes, as docs/format.md describes them."),
		"Checkpoints", only("checkpoints", array(only("seq", ref("Seq"), "bytes", integer(0, most, "")), "")),
	)
}
