package pt2

import (
	"fmt"
	"strings"
)

// storage is what tensors share of which one is a view of the other. Programs that
// were not decomposed may change a tensor in its place, and with it all that share
// its storage. The import follows such a change only from the result of the operator
// that makes it: reading any other value of the storage afterwards is an error.
type storage struct {
	version int    // counts the changes
	changed string // the node that made the last
	outside string // the input that it is, or "its weights"
}

// check refuses a value that a later node has changed.
func (s *storage) check(name string, version int) error {
	if s == nil || s.version == version {
		return nil
	}
	return fmt.Errorf("%q is read after %s changed it in its place: export with run_decompositions(), which writes such programs without changes", name, s.changed)
}

// inPlace is the operator that computes what one that changes its operand does; its
// name has no underscore at the end, as "aten.relu.default" for "aten.relu_.default".
func inPlace(target string) (pure string, ok bool) {
	name, overload, found := strings.Cut(strings.TrimPrefix(target, "aten."), ".")
	if !found || !strings.HasSuffix(name, "_") || strings.HasPrefix(name, "_") {
		return "", false
	}
	pure = "aten." + strings.TrimSuffix(name, "_") + "." + overload
	return pure, targets[pure] != nil
}

// change imports an operator that changes its operand self.
func (c *call) change(build func(*call)) error {
	self, err := c.scope.lookup(c.args["self"].Value())
	if err != nil {
		return err
	}
	if s := self.storage; s != nil && s.outside != "" {
		c.refusef("it changes %s, and programs here are pure", s.outside)
		return nil
	}
	if err := c.buildOrFold(build); err != nil || len(c.out) == 0 || c.out[0] == nil {
		return err
	}
	s := self.storage
	if s == nil {
		s = &storage{}
		self.storage = s
	}
	s.version++
	s.changed = c.describe(c.node)
	result := *c.out[0]
	result.storage, result.version = s, s.version
	c.out[0] = &result
	return nil
}

// place gives a result its storage: that of the operand if it may be a view of it.
func (c *call) place(v *value) {
	if v.storage != nil || v.missing || v.absent != "" || v.number != nil {
		return
	}
	v.storage = &storage{}
	if !views[c.target()] {
		return
	}
	for i := range c.node.Inputs {
		for _, name := range c.node.Inputs[i].Argument.Names {
			if of := c.scope.values[name]; of != nil && of.storage != nil {
				v.storage, v.version = of.storage, of.version
				return
			}
		}
	}
}

// views are the targets whose results may be views of their first operand.
var views = make(map[string]bool)

// registerViews registers operators that may give views.
func registerViews(family map[string]func(c *call)) struct{} {
	for name := range family {
		views[name] = true
	}
	return register(family)
}
