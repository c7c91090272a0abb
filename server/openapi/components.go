package openapi

import "regexp"

var componentRef = regexp.MustCompile(`"\$ref":\s*"#/components/([A-Za-z]+)/([^"]+)"`)

// needed returns the components that the paths refer to, directly or through
// others, and the security schemes, which are named without a reference. Omitting the
// schemas that only the other daemon uses makes generated clients smaller.
func needed(paths, components object) (object, error) {
	type name struct{ kind, name string }
	value := map[name]any{}
	for _, kind := range components {
		for _, m := range kind.value.(object) {
			value[name{kind.name, m.name}] = m.value
		}
	}
	used := map[name]bool{}
	var follow func(v object) error
	follow = func(v object) error {
		text, err := v.MarshalJSON()
		for _, m := range componentRef.FindAllSubmatch(text, -1) {
			n := name{string(m[1]), string(m[2])}
			if used[n] {
				continue
			}
			used[n] = true
			if component, ok := value[n].(object); ok && err == nil {
				err = follow(component)
			}
		}
		return err
	}
	if err := follow(paths); err != nil {
		return nil, err
	}
	var kept object
	for _, kind := range components {
		var all object
		for _, m := range kind.value.(object) {
			if used[name{kind.name, m.name}] || kind.name == "securitySchemes" {
				all = append(all, m)
			}
		}
		kept = append(kept, member{kind.name, all})
	}
	return kept, nil
}
