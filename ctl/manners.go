package ctl

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"assetledger/wal"
)

// Manners: data goes to standard output, words to standard error. Words are
// one line, "ledgerctl: " and a sentence that begins in lower case (unless by
// a code of the API) and says the next step where there is one. No colour, no
// prompt. Text from elsewhere is shown without its control characters.

// Exit codes.
const (
	exitDone    = 0
	exitFailure = 1
	exitUsage   = 2 // wrong usage
	exitRefused = 3 // the ledger refused it (4xx)
	exitSilent  = 4 // no answer: connection, timeout, 5xx
	exitStale   = 5 // freshness, or a read, missed its bound
	exitDamaged = 6 // the log is damaged
)

// An exitError ends ledgerctl with a code of its own.
type exitError struct {
	code int
	msg  string // "" if all is said
}

func (e *exitError) Error() string { return e.msg }

func exitf(code int, format string, args ...any) error {
	return &exitError{code, fmt.Sprintf(format, args...)}
}

// usagef is wrong usage.
func usagef(format string, args ...any) error { return exitf(exitUsage, format, args...) }

// exitCode is the exit code that goes with err.
func exitCode(err error) int {
	var own *exitError
	var refused *apiError
	var silent *noAnswer
	var damaged *wal.CorruptError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &own):
		return own.code
	case errors.As(err, &refused):
		return refused.exitCode()
	case errors.As(err, &silent):
		return exitSilent
	case errors.As(err, &damaged):
		return exitDamaged
	case errors.Is(err, wal.ErrSameDir):
		return exitUsage
	}
	return exitFailure
}

// tell says what went wrong, if anything did, and returns the exit code.
func tell(stderr io.Writer, err error) int {
	if err != nil && err.Error() != "" {
		say(stderr, "%v", err)
	}
	return exitCode(err)
}

// say writes one line of words.
func say(stderr io.Writer, format string, args ...any) {
	fmt.Fprintf(stderr, "ledgerctl: %s\n", clean(fmt.Sprintf(format, args...)))
}

// say writes one line of words.
func (c *call) say(format string, args ...any) { say(c.words, format, args...) }

// clean replaces what could steer a terminal, or break a line, by its escape.
func clean(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unprintable(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// count is a number with its noun: "1 commit", "2 commits".
func count[T int | int64 | uint64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// didYouMean is ` (did you mean "x"?)` for the candidate nearest to word, or
// nothing when none is near.
func didYouMean(word string, candidates []string) string {
	letters := len(strings.TrimLeft(word, "-"))
	if letters < 2 {
		return ""
	}
	best, least := "", 1+min(3, (letters+1)/2)
	for _, c := range candidates {
		d := distance(word, c)
		if strings.HasPrefix(c, word) {
			d = 1
		}
		if d < least {
			best, least = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := diagonal
			if a[i-1] != b[j-1] {
				change++
			}
			diagonal = row[j]
			row[j] = min(change, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
