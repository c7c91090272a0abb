package ledger

import "strings"

func (s *State) registerClass(op *Op) *Error {
	if err := s.wantRegister(op); err != nil {
		return err
	}
	id := op.Args[ClassID]
	code := op.Text(ClassCode)
	assign := op.Has&(1<<ClassID) == 0
	if !assign && s.findClass(id) != 0 {
		return Errorf(ClassAlreadyExists, "Class %d already exists.", id).With(Num("class_id", id))
	}
	if err := s.wantFreeCode(code, 0); err != nil {
		return err
	}
	if assign {
		if code == "" {
			return invalidField("class_id", "class_id is missing: the ledger assigns one only if a code is given.")
		}
		id = s.assignID(classCodes)
		s.decideID(classCodes, op, id)
	}
	s.makeClass(class{
		id:       id,
		name:     strings.Clone(op.Text(ClassName)),
		fungible: op.Get(ClassFungible, 1) != 0,
		decimals: uint8(op.Get(ClassDecimals, 0)),
	}, code)
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
			return Errorf(ShapeAlreadyExists, "Class %s already has a shape for all keys without one of their own.", s.classCalled(k)).
				With(Num("class_id", k.id))
		}
		return Errorf(ShapeAlreadyExists, "Class %s already has a shape for key %d.", s.classCalled(k), key).
			With(Num("class_id", k.id), Num("key", key))
	}
	s.makeShape(shape{class: kref, key: key, width: uint16(op.Args[ShapeWidth]), height: uint16(op.Args[ShapeHeight])})
	return nil
}
