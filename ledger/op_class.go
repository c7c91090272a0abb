package ledger

import "strings"

func (s *State) registerClass(op *Op) *Error {
	if err := s.wantRegister(op); err != nil {
		return err
	}
	if op.Has&(1<<ClassCode) != 0 {
		return invalidField("code", "Classes can't have codes yet.")
	}
	id := op.Args[ClassID]
	if s.findClass(id) != 0 {
		return Errorf(ClassAlreadyExists, "Class %d exists already.", id).With(Num("class_id", id))
	}
	s.makeClass(class{
		id:       id,
		name:     strings.Clone(op.Name),
		fungible: op.Get(ClassFungible, 1) != 0,
		decimals: uint8(op.Get(ClassDecimals, 0)),
	})
	return nil
}

func (s *State) registerClassShape(op *Op) *Error {
	if err := s.wantRegister(op); err != nil {
		return err
	}
	kref, k, err := s.wantClass(op, ShapeClass)
	if err != nil {
		return err
	}
	key := op.Get(ShapeKey, anyKey)
	if treeFind(shapesByKey{s}, k.shapes, rank{major: key}) != 0 {
		if key == anyKey {
			return Errorf(ShapeAlreadyExists, "Class %d has a shape for all keys without their own already.", k.id).
				With(Num("class_id", k.id))
		}
		return Errorf(ShapeAlreadyExists, "Class %d has a shape for key %d already.", k.id, key).
			With(Num("class_id", k.id), Num("key", key))
	}
	s.makeShape(shape{class: kref, key: key, width: uint16(op.Args[ShapeWidth]), height: uint16(op.Args[ShapeHeight])})
	return nil
}
