package pt2

import "forgekernel/forge/pt2/archive"

// nests are the targets with graphs of their own.
var nests = map[string]bool{"higher_order.wrap_with_set_grad_enabled": true}

var _ = register(map[string]func(*call){
	"higher_order.wrap_with_set_grad_enabled": inline,
})

// inline imports the graph of the node in its place. What surrounds it, whether
// gradients are kept, changes no result.
func inline(c *call) {
	var body *archive.Graph
	var given []*value
	for i := range c.node.Inputs {
		a := &c.node.Inputs[i].Argument
		c.read[c.node.Inputs[i].Name] = true
		switch {
		case a.Body != nil:
			body = a.Body
		case body != nil && len(a.Names) == 1:
			given = append(given, c.lookup(a.Names[0]))
		case body != nil && len(a.Ints) == 1:
			given = append(given, &value{number: c.scalar("size", a.Ints[0])})
		}
	}
	if body == nil || len(given) != len(body.Inputs) {
		c.Fail("the graph within does not fit its arguments")
	}
	if c.depth++; c.depth > MaxNesting {
		c.Fail("graphs are nested more than %d deep", MaxNesting)
	}
	inner := &scope{graph: body, values: make(map[string]*value)}
	for i := range body.Inputs {
		c.Check(inner.define(body.Inputs[i].Value(), given[i]))
	}
	c.Check(c.nodes(inner))
	c.depth--
	if len(body.Outputs) != len(c.out) {
		c.Fail("the graph within gives %d results instead of %d", len(body.Outputs), len(c.out))
	}
	for i := range body.Outputs {
		v, err := inner.lookup(body.Outputs[i].Value())
		c.Check(err)
		c.out[i] = v
	}
}
