package modeltest

import (
	"strings"

	"assetledger/ledger"
)

// Names of containers and codes of classes. A name is stored in its container
// or class, and found by searching all of them.

// containerID returns the id of the container that argument i names, or 0 if no
// container has the name. It also returns how the operation named the container.
func (r *run) containerID(op *ledger.Op, i int) (int64, detail) {
	if op.Ref&(1<<i) == 0 {
		return op.Args[i], detail{"container_id", op.Args[i]}
	}
	return r.m.containerNamed(op.Text(i)), detail{"name", op.Text(i)}
}

func (m *Model) containerNamed(name string) int64 {
	for id, c := range m.containers {
		if name != "" && c.name == name {
			return id
		}
	}
	return 0
}

// container finds the container that argument i names, and sets the argument to
// its id.
func (r *run) container(op *ledger.Op, i int) *container {
	id, asked := r.containerID(op, i)
	c := r.m.containers[id]
	r.check(!r.permit.Limited() || c != nil && r.ours(c.owner), ledger.Forbidden, asked)
	r.check(c != nil, ledger.ContainerNotFound, asked)
	op.Args[i] = id
	return c
}

// sameContainer reports whether two arguments name the same container. A name counts
// only if its container exists and the sender may use it.
func (r *run) sameContainer(op *ledger.Op, i, j int) bool {
	a, b := r.known(op, i), r.known(op, j)
	return a == b && a != 0
}

// known returns the id that argument i means, or 0 for a name that is unknown or that
// the sender may not use.
func (r *run) known(op *ledger.Op, i int) int64 {
	id, _ := r.containerID(op, i)
	if op.Ref&(1<<i) != 0 && (id == 0 || !r.ours(r.m.containers[id].owner)) {
		return 0
	}
	return id
}

// classID is like containerID, for classes.
func (r *run) classID(op *ledger.Op, i int) (int64, detail) {
	if op.Ref&(1<<i) == 0 {
		return op.Args[i], detail{"class_id", op.Args[i]}
	}
	return r.m.classCoded(op.Text(i)), detail{"code", op.Text(i)}
}

func (m *Model) classCoded(code string) int64 {
	for id, c := range m.classes {
		if code != "" && c.code == code {
			return id
		}
	}
	return 0
}

// class finds the class that argument i names, and sets the argument to its id.
func (r *run) class(op *ledger.Op, i int) *class {
	id, asked := r.classID(op, i)
	c := r.m.classes[id]
	r.check(c != nil, ledger.ClassNotFound, asked)
	op.Args[i] = id
	return c
}

// freeName checks that no container except self has the name; "" is no name.
// A sender limited to owners learns which container has the name only if that
// container belongs to one of these owners.
func (r *run) freeName(name string, self *container) {
	id := r.m.containerNamed(name)
	c := r.m.containers[id]
	if c == nil || c == self {
		return
	}
	r.check(r.ours(c.owner), ledger.Forbidden, detail{"name", name})
	r.check(false, ledger.NameTaken, detail{"name", name}, detail{"container_id", id})
}

// freeCode checks that no class except self has the code; "" is no code.
func (r *run) freeCode(code string, self *class) {
	id := r.m.classCoded(code)
	c := r.m.classes[id]
	r.check(c == nil || c == self, ledger.NameTaken, detail{"code", code}, detail{"class_id", id})
}

// assign sets the operation's first argument to the next id that the ledger
// assigns. The argument sort is 0 for containers and 1 for classes.
func (r *run) assign(op *ledger.Op, sort int, used func(int64) bool) {
	id := r.m.nextAssigned[sort]
	for used(id) {
		id++
	}
	r.m.nextAssigned[sort] = id + 1
	op.Args[0] = id
	op.Ref |= 1
	r.decisions = append(r.decisions, ledger.Decision{Op: int32(r.index), ID: id})
}

func (r *run) renameContainer(op *ledger.Op) {
	c := r.container(op, ledger.RenameContainerID)
	name := op.Text(ledger.RenameContainerName)
	r.freeName(name, c)

	back := newOp(op.Kind).add(ledger.RenameContainerID, op.Args[ledger.RenameContainerID])
	back.textOrNull(ledger.RenameContainerName, c.name)
	r.takenBack(back, nil)
	r.renamed(c.name)
	c.name = name
	r.touch(c)
}

func (r *run) renameClass(op *ledger.Op) {
	_, asked := r.classID(op, ledger.RenameClassID)
	r.mayRegister(asked)
	cl := r.class(op, ledger.RenameClassID)
	code := op.Text(ledger.RenameClassCode)
	r.freeCode(code, cl)

	back := newOp(op.Kind).add(ledger.RenameClassID, op.Args[ledger.RenameClassID])
	var was []string
	if op.Given(ledger.RenameClassName) {
		was = append(was, cl.name)
		back.textOrNull(ledger.RenameClassName, cl.name)
		cl.name = op.Text(ledger.RenameClassName)
	}
	if op.Has&(1<<ledger.RenameClassCode) != 0 {
		was = append(was, cl.code)
		back.textOrNull(ledger.RenameClassCode, cl.code)
		cl.code = code
	}
	r.takenBack(back, nil)
	r.renamed(was...)
}

// renamed records the texts that a rename replaced.
func (r *run) renamed(was ...string) {
	r.decisions = append(r.decisions, ledger.Decision{Op: int32(r.index), Renamed: true, Was: strings.Join(was, "\n")})
}

// meant returns an operation as the log stores it, with integers in place of names.
func meant(op ledger.Op) ledger.Op {
	asked := op
	var texts []string
	for i, arg := range op.Kind.Args() {
		switch {
		case !asked.Given(i):
		case arg.Type == ledger.ArgContainer || arg.Type == ledger.ArgClass:
			op.Ref &^= 1 << i
		case isText(arg.Type):
			texts = append(texts, asked.Text(i))
		}
	}
	op.Name = strings.Join(texts, "\n")
	return op
}

// Meant returns applied operations as the log stores them.
func Meant(ops []ledger.Op) []ledger.Op {
	list := make([]ledger.Op, len(ops))
	for i, op := range ops {
		list[i] = meant(op)
	}
	return list
}

// isText reports whether the values of a type are always strings.
func isText(t ledger.ArgType) bool {
	switch t {
	case ledger.ArgName, ledger.ArgContainerName, ledger.ArgClassCode, ledger.ArgContainerNameOrNull, ledger.ArgClassCodeOrNull:
		return true
	}
	return false
}
