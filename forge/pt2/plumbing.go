package pt2

import "forgekernel/forge/importer/formula"

var _ = register(map[string]func(*call){
	"aten.sym_size.int": symSize, "aten.size.int": symSize, "aten.sym_numel.default": symNumel, "aten.numel.default": symNumel,
	"aten.item.default": item, "aten._local_scalar_dense.default": item,
	"aten._assert_scalar.default": assertScalar, "aten._assert_async.msg": ignore, "aten._assert_tensor_metadata.default": ignore,
	"aten.sym_constrain_range_for_size.default": constrain, "aten.sym_constrain_range.default": constrain,
})

var _ = registerViews(map[string]func(*call){
	"aten.alias.default": pass, "aten.detach.default": pass, "aten.detach_.default": pass, "aten.lift_fresh_copy.default": clone, "aten.lift.default": pass, "aten.clone.default": clone,
	"aten.contiguous.default": pass, "aten.positive.default": pass, "aten.dropout.default": dropout, "aten.feature_dropout.default": dropout, "aten.alpha_dropout.default": dropout, "aten.native_dropout.default": dropout,
	"aten._conj.default": pass, "aten.resolve_conj.default": pass, "aten.resolve_neg.default": pass,
})

// pass gives the operand as it is.
func pass(c *call) { c.out[0] = c.value("self") }

// clone gives it a storage of its own.
func clone(c *call) {
	v := *c.value("self")
	v.storage, v.version = &storage{}, 0
	c.out[0] = &v
}

// ignore reads all arguments: PyTorch checks something that the import checks anyway.
func ignore(c *call) {
	for _, in := range c.node.Inputs {
		c.read[in.Name] = true
	}
}

// dropout keeps everything, as always when a model is not trained.
func dropout(c *call) {
	name := "train"
	if !c.has(name) {
		name = "training"
	}
	p := c.float("p", 0.5)
	if c.flag(name, false) && p != 0 {
		c.refuse("training drops elements at random: export after model.eval()")
		return
	}
	c.out[0] = c.value("input")
}

func symSize(c *call) {
	shape := c.value("self").shape()
	c.setNumber(0, integer(int64(shape[c.Axis(c.mustInt("dim"), len(shape))])))
}

func symNumel(c *call) { c.setNumber(0, integer(int64(formula.Product(c.value("self").shape())))) }

// item makes a number of a tensor, which must be known.
func item(c *call) { c.setNumber(0, c.item("self")) }

func assertScalar(c *call) {
	message := c.str("assert_msg", "")
	if !c.flag("self", true) {
		c.Fail("the program asserts what does not hold: %s", message)
	}
}

// constrain holds a number against its bounds.
func constrain(c *call) {
	n := c.number("size")
	if n == nil {
		n = integer(c.mustInt("self"))
	}
	if low := c.number("min"); low != nil && n.float() < low.float() {
		c.Fail("a size is %v; the program asserts at least %v", n.float(), low.float())
	}
	if high := c.number("max"); high != nil && n.float() > high.float() {
		c.Fail("a size is %v; the program asserts at most %v", n.float(), high.float())
	}
}
