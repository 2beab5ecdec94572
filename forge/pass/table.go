package pass

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
)

// Pass is one rewrite over a whole graph.
type Pass struct {
	Name string
	Doc  string // one sentence
	// Rules are what its decisions name.
	Rules []*Rule
	run   func(g *ir.Graph, r *report) error
}

// table lists the passes in the order in which they run.
var table = []Pass{
	{"fold-constants", "Computes nodes whose operands are all constants, but for large weights, which products read as they stand.", []*Rule{&weightRule, &foldRule}, foldConstants},
	{"simplify", "Replaces nodes by simpler ones.", simplificationRules(), simplify},
	{"common-subexpressions", "Lets equal nodes share one result.", []*Rule{&shareRule}, commonSubexpressions},
	{"dead-code", "Removes nodes that no output depends on.", []*Rule{&deadRule}, deadCode},
	{"recognise-norms", "Finds layer_norm and rms_norm in the operators that they are made of.", []*Rule{&layerNormRule, &roundedLayerNormRule, &rmsNormRule, &roundedRMSNormRule}, recogniseNorms},
	{"recognise-softmax", "Finds softmax in the operators that it is made of.", []*Rule{&softmaxRule}, recogniseSoftmax},
	{"regroup-products", "Gives products the leading dimensions that were joined for them.", regroupRules, regroupProducts},
	{"recognise-attention", "Finds attention in products, scale, mask and softmax.", []*Rule{&attentionRule, &boundedAttentionRule, &dividedAttentionRule}, recogniseAttention},
	{"canonicalize-linear", "Joins a matrix product and the bias that is added to it.", []*Rule{&linearRule}, canonicalizeLinear},
	{"late-regroup-products", "Gives linear nodes the leading dimensions that were joined for them.", regroupRules, regroupProducts},
	{"fuse-shared-projections", "Joins linear nodes that read the same value.", []*Rule{&projectionRule}, fuseSharedProjections},
	{"fuse-linear-activation", "Applies activations where products and convolutions store their results.", []*Rule{&activationRule}, fuseLinearActivation},
	{"fuse-residual", "Adds residuals where products store their results.", []*Rule{&residualRule}, fuseResidual},
	{"move-views", "Takes reshapes and transposes out of chains of elementwise nodes.", []*Rule{&viewRule}, moveViews},
	{"fuse-elementwise", "Groups elementwise nodes into kernels with one output.", []*Rule{&fuseRule}, fuseElementwise},
	{"late-dead-code", "Removes constants that fusion copied into kernels.", []*Rule{&deadRule}, deadCode},
	{"schedule", "Puts nodes into the order of the memory plan.", []*Rule{&scheduleRule}, schedule},
}

// constraint says that one pass must run before another.
type constraint struct{ first, then, reason string }

var constraints = []constraint{
	{"fold-constants", "common-subexpressions", "folding makes constants that may equal one another"},
	{"fold-constants", "simplify", "folding makes constants that simplification looks for"},
	{"simplify", "common-subexpressions", "nodes that differ as written may be equal when simplified"},
	{"common-subexpressions", "dead-code", "sharing leaves the duplicates without readers"},
	{"common-subexpressions", "fuse-elementwise", "a kernel computes equal expressions once only if they are one value"},
	{"dead-code", "fuse-elementwise", "a dead reader would count as a second consumer and block fusion"},
	{"common-subexpressions", "recognise-norms", "both operands of a square, and what is squared and divided, must be one value"},
	{"dead-code", "recognise-norms", "a dead reader would count as a second consumer and hide a pattern"},
	{"simplify", "recognise-norms", "a reciprocal root and a square have one form then"},
	{"recognise-norms", "fuse-elementwise", "a kernel would swallow the elementwise parts of a norm"},
	{"dead-code", "recognise-softmax", "a dead reader would count as a second consumer and hide a pattern"},
	{"common-subexpressions", "recognise-softmax", "the exponentials above and below the fraction must be one value"},
	{"recognise-softmax", "recognise-attention", "attention is looked for around a softmax"},
	{"recognise-attention", "canonicalize-linear", "scores with a mask of one row look like a product with a bias"},
	{"simplify", "regroup-products", "a reshape of a reshape is one then, and one that changes nothing is gone"},
	{"dead-code", "regroup-products", "a dead reader would count as a second consumer and hide a pattern"},
	{"regroup-products", "recognise-attention", "attention is looked for in products, scores and weights of one rank"},
	{"canonicalize-linear", "late-regroup-products", "a bias stands between a product and the reshape after it"},
	{"late-regroup-products", "fuse-shared-projections", "projections of one value may read reshapes of it"},
	{"late-regroup-products", "fuse-residual", "a residual is added to a product, not to its reshape"},
	{"canonicalize-linear", "fuse-shared-projections", "projections are joined with their biases"},
	{"fuse-shared-projections", "fuse-linear-activation", "a gate with its activation and a projection without cannot be joined"},
	{"canonicalize-linear", "fuse-linear-activation", "the activation comes after the bias"},
	{"fuse-linear-activation", "fuse-elementwise", "an activation alone in a kernel is better applied by the product before it"},
	{"fuse-linear-activation", "fuse-residual", "the residual comes after the activation"},
	{"fuse-residual", "fuse-elementwise", "an addition alone in a kernel is better made by the product before it"},
	{"fuse-residual", "move-views", "a view that moves between a product and the addition would part them"},
	{"move-views", "fuse-elementwise", "a view between two elementwise nodes parts their kernels"},
	{"fuse-linear-activation", "move-views", "a view that moves between a product and its activation would part them"},
	{"fuse-elementwise", "late-dead-code", "fusion copies scalar constants into kernels and leaves the originals"},
	{"late-dead-code", "schedule", "dead values would have a place in the plan"},
}

func init() {
	if err := checkOrder(table, constraints); err != nil {
		panic(err)
	}
}

// checkOrder reports the first constraint that the order of passes breaks.
func checkOrder(passes []Pass, constraints []constraint) error {
	index := make(map[string]int)
	for i, p := range passes {
		if _, ok := index[p.Name]; ok {
			return fmt.Errorf("pass: %s is in the table twice", p.Name)
		}
		index[p.Name] = i
	}
	for _, c := range constraints {
		first, ok := index[c.first]
		then, ok2 := index[c.then]
		switch {
		case !ok || !ok2:
			return fmt.Errorf("pass: the constraint %s < %s names an unknown pass", c.first, c.then)
		case first >= then:
			return fmt.Errorf("pass: %s must run before %s: %s", c.first, c.then, c.reason)
		}
	}
	return nil
}

// Names lists the passes in the order in which they run.
func Names() []string {
	var names []string
	for _, p := range table {
		names = append(names, p.Name)
	}
	return names
}

// Doc is the sentence that describes a pass, or the first snapshot.
func Doc(name string) string {
	for _, p := range table {
		if p.Name == name {
			return p.Doc
		}
	}
	return "The program as it was traced."
}

// Rules lists the rules of all passes, each once, in the order of the table.
func Rules() []*Rule {
	var rules []*Rule
	for _, p := range table {
		for _, r := range p.Rules {
			if !slices.Contains(rules, r) {
				rules = append(rules, r)
			}
		}
	}
	return rules
}
