package systemtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// A validator checks values against the schemas of one document. It supports
// only the keywords that the documents use and rejects all others, so that no
// keyword is silently ignored.
type validator struct{ document object }

// resolve follows a $ref.
func (v *validator) resolve(t object) (object, error) {
	for t["$ref"] != nil {
		at := any(v.document)
		for part := range strings.SplitSeq(strings.TrimPrefix(t["$ref"].(string), "#/"), "/") {
			inner, ok := at.(object)
			if !ok || inner[part] == nil {
				return nil, fmt.Errorf("nothing is at %s", t["$ref"])
			}
			at = inner[part]
		}
		t = at.(object)
	}
	return t, nil
}

// judge returns the reason why value does not match the schema, or nil if it matches.
func (v *validator) judge(schema object, value any) error {
	schema, err := v.resolve(schema)
	if err != nil {
		return err
	}
	for word, rule := range schema {
		if err := v.keyword(schema, word, rule, value); err != nil {
			return err
		}
	}
	return nil
}

func (v *validator) keyword(schema object, word string, rule, value any) error {
	switch word {
	case "description", "format", "default", "examples", "discriminator": // annotations without effect
		return nil
	case "type":
		return typed(rule, value)
	case "enum":
		if !slices.ContainsFunc(rule.([]any), func(one any) bool { return equal(one, value) }) {
			return fmt.Errorf("%v is not one of %v", value, rule)
		}
		return nil
	case "const":
		if !equal(rule, value) {
			return fmt.Errorf("%v is not %v", value, rule)
		}
		return nil
	case "oneOf", "allOf":
		return v.combined(word, rule.([]any), value)
	case "minimum", "maximum":
		return ranged(word, rule, value)
	case "minLength", "maxLength", "pattern":
		return textual(word, rule, value)
	case "minItems", "maxItems", "items":
		return v.listed(word, rule, value)
	case "properties", "required", "additionalProperties":
		return v.member(schema, word, rule, value)
	}
	return fmt.Errorf("this test does not support the keyword %s", word)
}

func typed(rule, value any) error {
	names, many := rule.([]any)
	if !many {
		names = []any{rule}
	}
	for _, name := range names {
		if name == typeOf(value) {
			return nil
		}
	}
	return fmt.Errorf("%v is %s, not %v", value, typeOf(value), rule)
}

func typeOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case json.Number:
		if strings.ContainsAny(value.String(), ".eE") {
			return "number"
		}
		return "integer"
	}
	return "object"
}

func equal(a, b any) bool { return typeOf(a) == typeOf(b) && fmt.Sprint(a) == fmt.Sprint(b) }

func (v *validator) combined(word string, schemas []any, value any) error {
	var whyNot []error
	fitting := 0
	for _, s := range schemas {
		if err := v.judge(s.(object), value); err != nil {
			whyNot = append(whyNot, err)
		} else {
			fitting++
		}
	}
	if word == "allOf" && fitting == len(schemas) || word == "oneOf" && fitting == 1 {
		return nil
	}
	misfit := fmt.Errorf("%s: the value fits %d of %d schemas", word, fitting, len(schemas))
	return errors.Join(append([]error{misfit}, whyNot...)...)
}

func ranged(word string, rule, value any) error {
	n, ok := value.(json.Number)
	if !ok {
		return nil
	}
	is, _ := new(big.Float).SetPrec(200).SetString(n.String())
	bound, _ := new(big.Float).SetPrec(200).SetString(rule.(json.Number).String())
	if c := is.Cmp(bound); word == "minimum" && c < 0 || word == "maximum" && c > 0 {
		return fmt.Errorf("%s is beyond the %s %s", n, word, rule)
	}
	return nil
}

func textual(word string, rule, value any) error {
	s, ok := value.(string)
	if !ok {
		return nil
	}
	fits := true
	switch length := utf8.RuneCountInString(s); word {
	case "minLength":
		fits = length >= asInt(rule)
	case "maxLength":
		fits = length <= asInt(rule)
	default:
		pattern := regexp.MustCompile(`\\u([0-9a-f]{4})`).ReplaceAllString(rule.(string), `\x{$1}`) // from the notation of ECMA-262
		fits = regexp.MustCompile(pattern).MatchString(s)
	}
	if !fits {
		return fmt.Errorf("%q does not match the %s %v", s, word, rule)
	}
	return nil
}

func (v *validator) listed(word string, rule, value any) error {
	elements, ok := value.([]any)
	if !ok {
		return nil
	}
	if word != "items" {
		if n := asInt(rule); word == "minItems" && len(elements) < n || word == "maxItems" && len(elements) > n {
			return fmt.Errorf("%d elements, and %s is %d", len(elements), word, n)
		}
		return nil
	}
	for i, e := range elements {
		if err := v.judge(rule.(object), e); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return nil
}

func (v *validator) member(schema object, word string, rule, value any) error {
	o, ok := value.(object)
	if !ok {
		return nil
	}
	properties, _ := schema["properties"].(object)
	switch word {
	case "required":
		for _, name := range rule.([]any) {
			if _, there := o[name.(string)]; !there {
				return fmt.Errorf("%s is missing", name)
			}
		}
	case "properties":
		for name, inner := range properties {
			if there, ok := o[name]; ok {
				if err := v.judge(inner.(object), there); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	default:
		for name, there := range o {
			if properties[name] != nil || rule == true {
				continue
			}
			if rule == false {
				return fmt.Errorf("%s is not described", name)
			}
			if err := v.judge(rule.(object), there); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}
