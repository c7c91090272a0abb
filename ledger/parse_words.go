package ledger

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ParseOpWords reads one operation in the form of the command line, such as
//
//	TransferFungible from_container=1 to_container=2 class_id=1 key=0 quantity=5
//
// Values are JSON values without quotes (owner=null, fungible=false, kind=Standard
// or kind=standard). A value with spaces needs quotes, as in name="two words"; inside
// them, \" and \\ stand for a quote and a backslash. instance_id=minted:0 means
// {"minted":0}, which is not checked against the preceding operations. A container or
// class that is not a number is a name or code. The arguments of the two registrations
// follow the name directly, without the enclosing object "request" of the JSON form. An
// error names the word or argument at fault, and usually says what is expected.
func ParseOpWords(words string) (Op, error) {
	list, err := splitWords(words)
	if err != nil {
		return Op{}, err
	}
	return ParseOpList(list)
}

// ParseOpList reads an operation whose words are already split, as by a shell.
// Values have no quotes.
func ParseOpList(list []string) (Op, error) {
	if len(list) == 0 {
		return Op{}, errors.New("no operation: write its name, then name=value for each argument")
	}
	op := Op{}
	for _, k := range OpKinds() {
		if k.String() == list[0] {
			op.Kind = k
		}
	}
	if op.Kind == 0 {
		return Op{}, fmt.Errorf("there is no operation named %q; the operations are %s", list[0], listNames(opNames[CreateContainer:]))
	}
	var p requestParser
	p.begin(nil, ParseLimits{})
	p.mints = MaxOperations
	for _, word := range list[1:] {
		if err := p.word(&op, word); err != nil {
			return Op{}, fmt.Errorf("%s: word %q: %w", op.Kind, word, err)
		}
	}
	if !p.checkArguments(&op) {
		return Op{}, errors.New(strings.TrimSuffix(p.err.Message, "."))
	}
	return op, nil
}

// ValidWord reports whether word is name=value, with the name of an argument of that
// kind of operation and a value that the argument accepts.
func ValidWord(kind OpKind, word string) bool {
	var p requestParser
	p.begin(nil, ParseLimits{})
	p.mints = MaxOperations
	return p.word(&Op{Kind: kind}, word) == nil
}

// word reads name=value into an argument of op.
func (p *requestParser) word(op *Op, word string) error {
	if !utf8.ValidString(word) {
		return errors.New("it is not UTF-8")
	}
	name, value, ok := strings.Cut(word, "=")
	if !ok {
		return fmt.Errorf("it should be name=value; the arguments are %s", listArguments(op.Kind))
	}
	i := 0
	for i < len(op.Kind.Args()) && op.Kind.Args()[i].Name != name {
		i++
	}
	if i == len(op.Kind.Args()) {
		return fmt.Errorf("there is no argument named %q; the arguments are %s", name, listArguments(op.Kind))
	}
	if op.Has&(1<<i) != 0 {
		return fmt.Errorf("%s is given twice", name)
	}
	t := op.Kind.Args()[i].Type
	p.data = appendWordJSON(nil, value, t)
	p.rewind(0)
	if !p.argument(op, i, 1) || !p.end() {
		if name == "quantity" && strings.Contains(value, ".") {
			return errors.New("quantity counts whole minor units: in a class with 2 decimals, 1.50 is 150")
		}
		return fmt.Errorf("%s must be %s%s", name, t.Values(), badSpelling(value))
	}
	return nil
}

// badSpelling says what is wrong with a number that JSON or the ledger spells
// differently. It returns "" for other values.
func badSpelling(value string) string {
	if strings.Trim(value, "-.0123456789eE") != "" {
		return ""
	}
	if digits := strings.TrimPrefix(value, "-"); len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		return ", without leading zeros"
	}
	if strings.ContainsAny(value, "eE") {
		return ", without an exponent"
	}
	return ""
}

// Values describes the values that arguments of the type may have.
func (t ArgType) Values() string {
	return strings.ReplaceAll(valueRanges[t].what, `{"minted": n}`, "minted:n")
}

// appendWordJSON appends the JSON that a bare value stands for.
func appendWordJSON(dst []byte, value string, t ArgType) []byte {
	switch t {
	case ArgKind:
		for k := Standard; k <= Grid; k++ {
			if strings.EqualFold(value, k.String()) {
				value = k.String()
			}
		}
		return AppendString(dst, value)
	case ArgName, ArgContainerName, ArgClassCode:
		return AppendString(dst, value)
	case ArgContainerNameOrNull, ArgClassCodeOrNull:
		if value != "null" {
			return AppendString(dst, value)
		}
	case ArgContainer, ArgClass:
		if !isNumber(value) {
			return AppendString(dst, value)
		}
	case ArgInstance:
		if n, ok := strings.CutPrefix(value, "minted:"); ok {
			return append(append(append(dst, `{"minted":`...), n...), '}')
		}
	}
	return append(dst, value...)
}

// isNumber reports whether the value is a JSON number, and so can't be a name.
func isNumber(value string) bool {
	s := jsonScanner{data: []byte(value)}
	return value != "" && (value[0] == '-' || value[0]-'0' <= 9) && s.skip(1) && s.end()
}

// splitWords splits at whitespace outside double quotes, and removes the quotes.
func splitWords(s string) (list []string, err error) {
	var word strings.Builder
	inWord, inQuotes := false, false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"':
			inQuotes = !inQuotes
			inWord = true
		case inQuotes && c == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
			word.WriteByte(s[i])
		case !inQuotes && strings.IndexByte(" \t\r\n", c) >= 0:
			if inWord {
				list = append(list, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inQuotes {
		return nil, fmt.Errorf("unmatched double quote in %q", s)
	}
	if inWord {
		list = append(list, word.String())
	}
	return list, nil
}
