package openapi

const aboutRead = `Answers reads of a ledger of containers, asset classes and balances. Every response is consistent as of one commit,
freshness.checkpoint_seq, and shows only durable commits. Pass the global_seq of your commit as min_seq to read your own writes.

Integers go up to 2^63-1, and sums beyond: parse them without loss of precision. Every error has a JSON body, including those for unknown
paths (404) and methods (405). Lists are paged: next_cursor is present while there are more entries.`

var (
	seqAndTag  = []string{"X-Asset-Seq", "ETag"}
	minSeq     = []string{"X-Asset-Min-Seq", "If-None-Match"}
	readErrors = []int{400, 425, 500, 503}
	oneErrors  = []int{400, 404, 425, 500, 503}
	kindErrors = []int{400, 404, 422, 425, 500, 503}
	pastErrors = []int{400, 404, 410, 422, 425, 500, 503}
)

// read returns the description of a read, with what all reads have in common.
func read(id, tag, summary, about, answer string, errors []int) operation {
	return operation{id: id, tag: tag, summary: summary, about: about, headers: minSeq, answer: answer, answerHeaders: seqAndTag, also: notModified, errors: errors}
}

var readOperations = map[string]operation{
	"GET /v1/read/container/{id}":          read("readContainer", "Containers", "A container", "", "ContainerAnswer", []int{400, 404, 410, 425, 500, 503}),
	"GET /v1/read/container/{id}/balances": read("readBalances", "Containers", "The stacks of a container", "Ordered by class_id, then key. A Grid has stacks too; a Slots container has none (422).", "BalancesAnswer", pastErrors),
	"GET /v1/read/container/{id}/slots":    read("readSlots", "Containers", "The slots of a container", "The occupied slots, ordered by slot_index.", "SlotsAnswer", pastErrors),
	"GET /v1/read/container/{id}/grid":     read("readGrid", "Containers", "The grid of a container", "Ordered by y, then x. With x, y, width and height, only the placements that overlap that rectangle; give all four or none.", "GridAnswer", pastErrors),
	"GET /v1/read/container/{id}/holds":    read("readHolds", "Holds", "The holds in a container", "Ordered by hold_id. A Slots container has no stacks (422).", "HoldsAnswer", pastErrors),
	"GET /v1/read/container/{id}/history": read("readHistory", "Containers", "The history of a container", "Every change, by default newest first. With filters that few changes match, a page may have fewer entries than limit although next_cursor is present.", "HistoryAnswer",
		[]int{400, 404, 410, 425, 500, 503}),
	"GET /v1/read/hold/{id}":         read("readHold", "Holds", "A hold", "", "HoldAnswer", oneErrors),
	"GET /v1/read/containers":        read("readContainers", "Containers", "All containers", "Ordered by container_id; with prefix, by name. With kind or prefix a page may have fewer elements than limit although next_cursor is present.", "ContainersAnswer", readErrors),
	"GET /v1/read/class/{id}":        read("readClass", "Classes", "A class", "", "ClassAnswer", oneErrors),
	"GET /v1/read/classes":           read("readClasses", "Classes", "All classes", "Ordered by class_id.", "ClassesAnswer", readErrors),
	"GET /v1/read/class/{id}/shapes": read("readShapes", "Classes", "The shapes of a class", "The null key first, then by key.", "ShapesAnswer", oneErrors),
	"GET /v1/read/class/{id}/stats":  read("readStats", "Classes", "The totals of a class", "total_quantity is total_added less total_removed.", "StatsAnswer", oneErrors),
	"GET /v1/read/class/{id}/holders": read("readHolders", "Classes", "The holders of a class",
		"Ordered by container_id, then key. The class must be fungible (422). With key a page may have fewer elements than limit although next_cursor is present.", "HoldersAnswer", kindErrors),
	"GET /v1/read/class/{id}/instances": read("readInstances", "Classes", "The instances of a class",
		"Ordered by instance_id, without their children. The class must not be fungible (422). With key or container_id a page may have fewer elements than limit although next_cursor is present.", "InstancesAnswer", kindErrors),
	"GET /v1/read/instance/{id}":       read("readInstance", "Instances", "An instance", "Its children are paged, ordered by instance_id.", "InstanceAnswer", oneErrors),
	"GET /v1/read/freshness":           read("readFreshness", "Freshness", "How far reads are behind the log", "", "FreshnessAnswer", readErrors),
	"GET /v1/read/commit/{global_seq}": read("readCommit", "Commits", "A commit, as it was made", "", "CommitAnswer", []int{400, 404, 410, 425, 500, 503}),
	"GET /v1/read/commits": {id: "readCommits", tag: "Commits", summary: "Commits in order, as a list or an endless stream",
		about:   "With Accept: text/event-stream it is an endless stream of server-sent events, which accepts only after, min_seq and wait.",
		headers: append([]string{"Last-Event-ID"}, minSeq...), answer: "CommitsAnswer", answerHeaders: seqAndTag, events: true, also: notModified,
		errors: []int{400, 410, 425, 500, 503}},
	"GET /v1/read/minutes": read("readMinutes", "Commits", "Commits per minute over the last hour", "The current minute is the last one.", "MinutesAnswer", readErrors),
	"GET /v1/health": {id: "readHealth", tag: "Operation", summary: "The health of the read daemon", answer: "ReadHealth",
		also: degraded("ReadHealth", "the log can't be read, its source is silent or has a different history, or lag is beyond its bound"), errors: []int{400, 500}},
	"GET /v1/livez":   probe("readAlive", "Whether the daemon responds", "Alive"),
	"GET /v1/readyz":  probe("readReady", "Whether reads are answered now, and are not too stale", "Ready"),
	"GET /v1/metrics": {id: "readMetrics", tag: "Operation", summary: "Metrics", answer: "Metrics", answerType: metricsType, errors: []int{500}},
	"GET /v1/status": {id: "readStatus", tag: "Operation", summary: "All daemons, the log and its copies, for operators",
		about:  "What this read daemon sees of the ledger: the log in its directory, the read daemons on it, the mirrors that copy from it, and the write daemons of its -write-url. The page shows it.",
		answer: "StatusAnswer", errors: []int{400, 500}},
	"GET /v1/openapi.json": {id: "readOpenAPI", tag: "Operation", summary: "This document", answer: "OpenAPI",
		answerHeaders: []string{"ETag"}, also: notModified, errors: []int{500}},
}

var (
	committedAt = o("type", "string", "format", "date-time", "pattern", `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$`)
	signed      = integer(-most, most, "")
)

// past returns the schema of a response that may show a past state.
func past(data any) object {
	return optional([]string{"as_of"}, "data", data, "freshness", ref("Freshness"), "as_of", ref("AsOf"))
}

// about returns the schema of a response with data and freshness.
func about(data any) object {
	return only("data", data, "freshness", ref("Freshness"))
}

func readSchemas() object {
	container := []any{"container_id", ref("Id"), "name", reference(false), "kind", ref("ContainerKind"), "owner", ref("Owner")}
	class := optional([]string{"code"}, "class_id", ref("Id"), "code", reference(true), "name", o("type", "string"), "fungible", o("type", "boolean"),
		"decimals", integer(0, 18, ""), "registered_seq", ref("Seq"))
	next := []string{"next_cursor"}
	what := []any{"class_id", ref("Id"), "key", ref("Key")}
	placement := func(more ...any) object {
		return only(append(append([]any{"x", ref("Cell"), "y", ref("Cell"), "width", ref("Side"), "height", ref("Side"), "rotation", ref("Rotation")}, what...), more...)...)
	}
	return append(o(
		"ContainerAnswer", past(optional([]string{"name", "slot_count", "grid_width", "grid_height"}, append(container,
			"created_seq", ref("Seq"), "updated_seq", ref("Seq"),
			"slot_count", integer(1, 65536, "Of a Slots container."), "grid_width", ref("Side"), "grid_height", ref("Side"),
			"stacks", ref("Count"), "instances", ref("Count"))...)),
		"BalancesAnswer", optional(append([]string{"as_of"}, next...), "container_id", ref("Id"), "balances", array(optional([]string{"held"}, append(what, "quantity", ref("Quantity"), "held", described(ref("Quantity"), "The part of the quantity that is held; absent if nothing is."))...), ""),
			"next_cursor", ref("NextCursor"), "freshness", ref("Freshness"), "as_of", ref("AsOf")),
		"SlotsAnswer", past(optional(next, "container_id", ref("Id"), "slot_count", integer(1, 65536, ""),
			"slots", array(only(append([]any{"slot_index", integer(0, 65535, ""), "instance_id", ref("Id")}, what...)...), ""), "next_cursor", ref("NextCursor"))),
		"Placement", o("oneOf", list{placement("quantity", ref("Quantity")), placement("instance_id", ref("Id"))},
			"description", "A stack or an instance, at its anchor; width and height are those after rotation."),
		"GridAnswer", past(optional(next, "container_id", ref("Id"), "grid_width", ref("Side"), "grid_height", ref("Side"),
			"occupied_cells", described(ref("Count"), "Of the whole grid."), "placements", array(ref("Placement"), ""), "next_cursor", ref("NextCursor"))),
		"ContainersAnswer", about(optional(next, "containers", array(optional([]string{"name"}, container...), ""), "next_cursor", ref("NextCursor"))),
		"Class", class,
		"ClassAnswer", about(ref("Class")),
		"ClassesAnswer", about(optional(next, "classes", array(ref("Class"), ""), "next_cursor", ref("NextCursor"))),
		"ShapesAnswer", about(optional(next, "class_id", ref("Id"), "shapes", array(only("key", ref("ShapeKey"), "width", ref("Side"), "height", ref("Side")), ""), "next_cursor", ref("NextCursor"))),
		"HoldersAnswer", about(optional(next, "class_id", ref("Id"), "holders", array(optional([]string{"held"}, "container_id", ref("Id"), "key", ref("Key"),
			"quantity", ref("Quantity"), "held", described(ref("Quantity"), "The part of the quantity that is held; absent if nothing is.")), ""), "next_cursor", ref("NextCursor"))),
		"StatsAnswer", about(optional([]string{"total_held"}, "class_id", ref("Id"), "total_quantity", ref("Count"),
			"total_held", described(ref("Quantity"), "The part of the total quantity that is held; absent if nothing is."), "total_added", ref("Total"), "total_removed", ref("Total"),
			"stacks", ref("Count"), "containers", described(ref("Count"), "Containers with a stack or, directly, an instance of the class."),
			"instances_minted", ref("Count"), "instances_burned", ref("Count"), "instances_live", ref("Count"))),
	), laterReadSchemas(next)...)
}

func laterReadSchemas(next []string) object {
	hold := []any{"class_id", ref("Id"), "key", ref("Key"), "quantity", ref("Quantity"), "held_seq", ref("Seq"),
		"expires_at", o("type", "string", "format", "date-time", "description", "Absent if it never expires.")}
	never := []string{"expires_at"}
	at := []any{"global_seq", ref("Seq"), "committed_at", committedAt, "operation_index", integer(0, 9999, ""), "op", o("type", "string")}
	entry := func(optionals []string, more ...any) object {
		return optional(optionals, append(append([]any{}, at...), more...)...)
	}
	what := []any{"class_id", ref("Id"), "key", ref("Key")}
	cells := []any{"x", ref("Cell"), "y", ref("Cell"), "rotation", ref("Rotation")}
	why := o("type", "string", "description", "The reason, for people; absent if healthy.")
	return o(
		"HistoryAnswer", about(optional(next, "container_id", ref("Id"), "entries", array(ref("HistoryEntry"), ""), "next_cursor", ref("NextCursor"))),
		"HistoryEntry", o("oneOf", list{
			entry([]string{"x", "y", "rotation", "payer"}, append(append(append(append([]any{}, what...), "change", signed, "quantity", ref("Count")), cells...), "payer", ref("Id"))...),
			entry(nil, append(append([]any{"hold_id", ref("Id")}, what...), "held_change", signed, "held", ref("Count"))...),
			entry(nil, append(append([]any{"instance_id", ref("Id")}, what...), "change", o("enum", list{"in", "out", "moved"}), "slot_index", integer(0, 65535, ""))...),
			entry(nil, append(append(append([]any{"instance_id", ref("Id")}, what...), "change", o("enum", list{"in", "out", "moved"})), cells...)...),
			entry(nil, "change", o("enum", list{"created", "removed"})),
			entry(nil, "change", o("const", "renamed"), "name", o("type", list{"string", "null"})),
		}, "description", "A stack, a hold on one, an instance in a slot, an instance in a grid, or the container itself."),
		"AsOf", described(only("global_seq", ref("Checkpoint"), "committed_at", committedAt), "The commit that a read of the past shows."),
		"HoldAnswer", about(optional(never, append([]any{"hold_id", ref("Id"), "container_id", ref("Id")}, hold...)...)),
		"HoldsAnswer", past(optional(next, "container_id", ref("Id"),
			"holds", array(optional(never, append([]any{"hold_id", ref("Id")}, hold...)...), ""), "next_cursor", ref("NextCursor"))),
		"Location", o("oneOf", list{
			o("type", "null"),
			only("container_id", ref("Id"), "slot_index", integer(0, 65535, "")),
			only("container_id", ref("Id"), "x", ref("Cell"), "y", ref("Cell"), "rotation", ref("Rotation")),
			only("parent_id", ref("Id"))}, "description", "null: nowhere."),
		"InstanceAnswer", about(optional(next, "instance_id", ref("Id"), "class_id", ref("Id"), "key", ref("Key"), "minted_seq", ref("Seq"),
			"location", ref("Location"), "children", array(ref("Id"), "Instances attached to it."), "next_cursor", ref("NextCursor"))),
		"InstancesAnswer", about(optional(next, "class_id", ref("Id"), "instances", array(only("instance_id", ref("Id"), "class_id", ref("Id"), "key", ref("Key"),
			"minted_seq", ref("Seq"), "location", ref("Location")), ""), "next_cursor", ref("NextCursor"))),
		"FreshnessAnswer", about(only("lag", described(ref("Count"), "Durable commits that have not been applied yet."),
			"lag_ms", described(ref("Count"), "Age of the oldest durable commit that has not been applied yet, in milliseconds; 0 if there is none; in a mirror, at least the time for which its source has been silent."))),
		"Commit", optional([]string{"reverses", "reversed_by", "principal"}, "global_seq", ref("Seq"), "batch_seq", integer(1, most, ""),
			"committed_at", committedAt,
			"operations", array(ref("Operation"), "As they were applied: with integers for names, expires_at for expires_in, and the ids that the ledger assigned; the arguments are in the order of the table in docs/api.md."),
			"minted_instances", array(ref("Id"), ""), "metadata", ref("Metadata"),
			"reverses", described(ref("Seq"), "The commit that this one reverses."), "reversed_by", described(ref("Seq"), "The commit that reversed this one; absent in a stream."),
			"principal", o("type", "string", "description", "The client that sent it, absent if the daemon had no auth file; ledger for a commit that the ledger made itself.")),
		"CommitAnswer", about(ref("Commit")),
		"MinutesAnswer", about(only("from", o("type", "string", "format", "date-time", "description", "Start of the first minute."), "commits", array(ref("Count"), "Number of commits in each of the 60 minutes."))),
		"CommitsAnswer", about(optional(next, "commits", array(ref("Commit"), ""), "next_cursor", ref("NextCursor"))),
		"StatusAnswer", about(only(
			"read", optional([]string{"reason"}, "name", o("type", "string"), "version", o("type", "string"), "status", ref("HealthStatus"), "reason", why),
			"log", optional([]string{"disk_free_bytes", "open_for_writing", "reason"}, "path", o("type", "string"), "segments", integer(0, most, ""),
				"bytes", integer(0, most, "Of the segments' files; the newest is allocated in full in advance."), "first_seq", described(ref("Checkpoint"), "The first commit that is not archived; 0 if there is no log yet."),
				"end_seq", ref("Checkpoint"), "disk_free_bytes", integer(0, most, ""), "open_for_writing", o("type", "boolean", "description", "A process on this machine has the log open for writing."), "reason", why),
			"readers", readersAttached, "mirrors", copies,
			"write", array(optional([]string{"role", "reason", "commit_log"}, "url", o("type", "string"), "status", o("type", "string", "enum", list{"healthy", "degraded", "unreachable"}),
				"reason", why, "role", ref("Role"), "commit_log", described(only("end_seq", ref("Checkpoint"), "checkpoint_seq", ref("Checkpoint"), "lag", ref("Count"),
					"readers", readersAttached, "mirrors", copies), "As its health reports it; absent if it is unreachable.")), "Those of -write-url."))),
		"ReadHealth", optional([]string{"until", "until_time", "source", "history"}, "status", ref("HealthStatus"), "freshness", only("checkpoint_seq", ref("Checkpoint"), "commit_log_seq", ref("Checkpoint"), "lag", ref("Count")),
			"until", described(ref("Checkpoint"), "The commit after which the daemon stops following the log; only with -until or -until-time, when it is known."),
			"until_time", o("type", "string", "format", "date-time", "description", "The time of -until-time."),
			"source", described(only("url", o("type", "string"), "seq", ref("Checkpoint"), "silence_ms", ref("Count")), "With -from: the daemon that the log is copied from, its last known commit, and the time since it was last heard from."),
			"history", described(optional([]string{"made_seq", "of_seq", "failing"}, "made_seq", ref("Checkpoint"), "of_seq", ref("Checkpoint"),
				"failing", o("type", "boolean", "description", "true while the history index can't be maintained, for example because the disk is full.")),
				"Progress of building a missing history index, and whether it can't be maintained; absent when it is complete and can be maintained.")),
	)
}
