package ctl

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"

	"assetledger/wal"
)

// Manners: data goes to standard output, messages to standard error. A message is
// one line: "ledgerctl: " and a sentence that begins in lower case, unless with a
// code of the API, and says what to do next where that is known. There is no color
// and no prompt. Text from other sources is shown without its control characters.

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

func usagef(format string, args ...any) error { return exitf(exitUsage, format, args...) }

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

// tell reports err, if there is one, and returns the exit code.
func tell(stderr io.Writer, err error) int {
	if err != nil && err.Error() != "" {
		say(stderr, "%v", err)
	}
	return exitCode(err)
}

// say writes a message of one line.
func say(stderr io.Writer, format string, args ...any) {
	fmt.Fprintf(stderr, "ledgerctl: %s\n", clean(fmt.Sprintf(format, args...)))
}

// say writes a message of one line.
func (c *call) say(format string, args ...any) { say(c.words, format, args...) }

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// clean escapes characters that could control a terminal, or break a line.
func clean(s string) string { return escape(s, "") }

// escape escapes unprintable characters, other than those to keep, as JSON does.
func escape(s, keep string) string {
	strange := func(r rune) bool { return unprintable(r) && !strings.ContainsRune(keep, r) }
	if strings.IndexFunc(s, strange) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !strange(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// count returns a number with its noun: "1 commit", "2 commits".
func count[T int | int64 | uint64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
