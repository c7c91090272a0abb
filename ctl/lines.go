package ctl

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// A lineReader reads lines of bounded length and counts them.
type lineReader struct {
	in     *bufio.Reader
	most   int // bytes of a line
	number int // of the line returned last, from 1
	line   []byte
}

var errLongLine = errors.New("the line is too long")

func newLineReader(in io.Reader, most int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, 64<<10), most: most}
}

// next returns the next line without its end; it is valid until the next call. The
// error is io.EOF after the last line, errLongLine for one that is too long.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		l.line = append(l.line, part...)
		if len(l.line) > l.most {
			l.number++
			return nil, errLongLine
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (err != io.EOF || len(l.line) == 0) {
			return nil, err
		}
		l.number++
		return trimEnd(l.line), nil
	}
}

// ready reports whether the next line has arrived, so that next will not wait.
func (l *lineReader) ready() bool {
	have, _ := l.in.Peek(l.in.Buffered())
	return bytes.IndexByte(have, '\n') >= 0
}

// trimEnd removes the end of a line, \n or \r\n.
func trimEnd(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}
