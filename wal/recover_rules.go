package wal

// The decisions of Open are data: two tables of rules over a few facts. For every
// possible combination of facts, exactly one rule of each table holds. A test tries
// all combinations.

// facts is a set of true statements.
type facts uint8

// A rule holds if, of the facts in its mask, exactly those in want are true.
type rule struct {
	name       string
	mask, want facts
	then       verdict
	why        string
}

func (r *rule) holds(f facts) bool { return f&r.mask == r.want }

type verdict uint8

const (
	refuse   verdict = iota // stop; nothing is changed on disk
	create                  // create a new log
	recovery                // continue and read the segments
	goOn                    // append here
	zeroTail                // keep a copy of the stray bytes, zero them, append here
)

// Facts of a directory.
const (
	hasSegments facts = 1 << iota
	hasEnd            // END exists and is valid
	badEnd            // END exists, and is neither empty nor valid: a crash can garble it
	foreignEnd        // END and the segments belong to different logs
	hasCkpt           // there are checkpoints
	headless          // the first segments are missing, and no checkpoint is at a commit of the rest
	halfCopy          // END marks an unfinished backup
	dirFacts    = hasSegments | hasEnd | badEnd | foreignEnd | hasCkpt | headless | halfCopy
)

// Names of rules that the tables and other checks share.
const (
	ruleGap      = "segment missing"
	ruleHeader   = "segment header"
	ruleSize     = "segment size"
	ruleUnsealed = "segment not sealed"
	ruleLink     = "segment chain"
	ruleForeign  = "segment of another log"
	// ruleUnreadable means that the disk returned an error, or that the file was
	// truncated.
	ruleUnreadable = "unreadable"
)

const whyHeadless = "the first segments are missing, and no checkpoint covers them: " +
	"move them back from the archive, or restore a checkpoint from a backup"

// dirRules decide what Open does with a directory. The first segment gets its durable
// name before END is created, so a crash never leaves an END without segments. A power
// failure may garble END itself, because it may be written at any time. Then the frames
// alone decide, as if END were missing. A garbled END by itself loses nothing: a power
// failure does not touch durable bytes, and the chain of frames reveals damage before
// the last frame. Only damage to the last frame would go unnoticed.
var dirRules = []rule{
	{"unfinished backup", halfCopy, halfCopy, refuse,
		"this copy was not finished, or its check failed: run ledgerctl backup again"},
	{"END of another log", badEnd | foreignEnd | halfCopy, foreignEnd, refuse,
		"END and the segments have different log ids"},
	{"front of the log missing", badEnd | foreignEnd | hasSegments | headless | halfCopy, hasSegments | headless, refuse, whyHeadless},
	{"front of the log missing, END damaged", badEnd | hasSegments | headless | halfCopy, badEnd | hasSegments | headless, refuse, whyHeadless},
	{"existing log", badEnd | foreignEnd | hasSegments | headless | halfCopy, hasSegments, recovery, ""},
	{"existing log, END damaged", badEnd | hasSegments | headless | halfCopy, badEnd | hasSegments, recovery, ""},
	{"END damaged", badEnd | hasSegments | halfCopy, badEnd, refuse,
		"there are no segments, and END is neither empty nor valid"},
	{"log missing, END present", badEnd | foreignEnd | hasSegments | hasEnd | halfCopy, hasEnd, refuse,
		"there are no segments, but END says that there was a log"},
	{"log missing, checkpoints present", badEnd | foreignEnd | hasSegments | hasEnd | hasCkpt | halfCopy, hasCkpt, refuse,
		"there are no segments, but there are checkpoints of a log"},
	{"new log", dirFacts &^ headless, 0, create, ""},
}

// Facts about X, the first place in the last segment without a valid next frame. L
// is the last valid global_seq.
const (
	misfit    facts = 1 << iota // X has a frame header with a valid CRC, but the frame does not fit
	acked                       // END or a checkpoint is beyond L
	laterSeq                    // there is a valid frame header beyond X, with a global_seq beyond L, and the log is not a copy
	stray                       // bytes at or after X that are not zero
	farStray                    // such bytes beyond the end of the largest frame that could begin at X
	tailFacts = misfit | acked | laterSeq | stray | farStray
)

// tailRules decide what Open does at the end of the log. A crash can interrupt at most
// one frame, which had not been acknowledged. In a copy it can interrupt a group of
// frames, which together are not larger than the largest frame. There, a later frame
// proves nothing about an earlier one. Everything else is damage, and is not repaired
// here.
var tailRules = []rule{
	{"acknowledged frames missing", acked, acked, refuse,
		"END or a checkpoint is beyond the last good frame: acknowledged commits are damaged or missing"},
	{"frame does not fit", acked | misfit, misfit, refuse,
		"there is a complete frame header here that does not follow the previous frame"},
	{"damage before the end", acked | misfit | laterSeq, laterSeq, refuse,
		"a later frame proves that the frame here was durable"},
	{"unexplained bytes", acked | misfit | laterSeq | farStray, farStray, refuse,
		"bytes beyond what one write could have left"},
	{"torn tail", acked | misfit | laterSeq | farStray | stray, stray, zeroTail, ""},
	{"clean end", tailFacts, 0, goOn, ""},
}

// decide returns the rule of the table that holds for the facts f.
func decide(table []rule, f facts) *rule {
	for i := range table {
		if table[i].holds(f) {
			return &table[i]
		}
	}
	panic("wal: the rules are not total") // a test proves that they are
}
