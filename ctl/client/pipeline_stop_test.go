package client

import (
	"slices"
	"testing"
)

// TestStopBeforeGivenLines checks that with OnError stop the first rejection is the last result, whatever the results of
// lines that were sent after a line with a given result.
func TestStopBeforeGivenLines(t *testing.T) {
	result := func(code string) string {
		return `{"error":{"code":"` + code + `","message":"No.","details":{}}}` + "\n"
	}
	given := Line{Number: 2, Given: []byte(result("MalformedJSON"))}
	keyed := func(n int) Line { return Line{Number: n, Text: []byte("{}"), Keyed: true} }
	for name, x := range map[string]struct {
		queue   []Line
		results string
	}{
		"refused":              {[]Line{keyed(1), given, keyed(3)}, result("InvalidRequest") + result("NotAttempted")},
		"held, then not":       {[]Line{keyed(1), given, {Number: 3, Text: []byte("{}")}}, result("LogUnavailable") + result("LogUnavailable")},
		"held, then not twice": {[]Line{keyed(1), given, {Number: 3, Text: []byte("{}")}, keyed(4)}, result("LogUnavailable") + result("LogUnavailable") + result("LogUnavailable")},
	} {
		t.Run(name, func(t *testing.T) {
			var told []int
			p := &pipeline{c: New(Options{}), o: LinesOptions{OnError: "stop"}, queue: x.queue, sent: len(x.queue), yield: func(a Answered, err error) bool {
				told = append(told, a.Number)
				return err == nil && a.Err != nil
			}}
			if err := p.results(&stream{}, []byte(x.results)); err != nil || !slices.Equal(told, []int{1}) || len(p.queue) > 0 {
				t.Errorf("lines %d have a result and %d lines remain, want only line 1 and none: %v", told, len(p.queue), err)
			}
		})
	}
}
