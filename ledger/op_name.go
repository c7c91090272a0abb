package ledger

import "strings"

// wantFreeName returns an error if a container other than ref has the name. A sender
// that may not use that container learns only that the name is taken.
func (s *State) wantFreeName(name string, ref uint32) *Error {
	holder := uint32(0)
	if name != "" {
		holder = s.findNamed(containerNames, name)
	}
	if holder == 0 || holder == ref {
		return nil
	}
	c := s.containers.at(holder)
	if !s.doing.permit.allows(c.owner) {
		return Errorf(Forbidden, "This token may not give a container the name %q: it is taken.", name).With(Text("name", name))
	}
	return Errorf(NameTaken, "Container %d has the name %q.", c.id, name).With(Text("name", name), Num("container_id", c.id))
}

// wantFreeCode returns an error if a class other than ref has the code.
func (s *State) wantFreeCode(code string, ref uint32) *Error {
	holder := uint32(0)
	if code != "" {
		holder = s.findNamed(classCodes, code)
	}
	if holder == 0 || holder == ref {
		return nil
	}
	id := s.classes.at(holder).id
	return Errorf(NameTaken, "Class %d has the code %q.", id, code).With(Text("code", code), Num("class_id", id))
}

func (s *State) renameContainer(op *Op) *Error {
	ref, _, err := s.wantContainer(op, RenameContainerID)
	if err != nil {
		return err
	}
	name := op.Text(RenameContainerName)
	if err := s.wantFreeName(name, ref); err != nil {
		return err
	}
	was := s.rename(containerNames, ref, name)
	s.touch(ref)
	s.decideRenamed(was)
	return nil
}

func (s *State) renameClass(op *Op) *Error {
	if err := s.wantRegister(op); err != nil {
		return err
	}
	ref, k, err := s.wantClass(op, RenameClassID)
	if err != nil {
		return err
	}
	code := op.Text(RenameClassCode)
	if err := s.wantFreeCode(code, ref); err != nil {
		return err
	}
	var was []string
	if op.Given(RenameClassName) {
		was = append(was, k.name)
		s.setClassName(ref, strings.Clone(op.Text(RenameClassName)))
	}
	if op.Has&(1<<RenameClassCode) != 0 {
		was = append(was, s.rename(classCodes, ref, code))
	}
	s.decideRenamed(strings.Join(was, "\n"))
	return nil
}

// decideRenamed adds to the outcome the texts that a rename replaced, separated by
// newlines.
func (s *State) decideRenamed(was string) {
	s.doing.out.Decisions = append(s.doing.out.Decisions, Decision{Op: s.doing.op, Renamed: true, Was: was})
}
