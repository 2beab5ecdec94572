package eval

import (
	"go/constant"
	"go/token"

	"golang.org/x/tools/go/ssa"
)

// The translator guards the bodies of loops over functions against functions
// that go on when they should not, but does not say what Go says.

const (
	calledLate = "yield function called after range loop exit"
	notPassed  = "iterator call did not preserve panic"
)

// The states of such a loop, in the translator's own variable; positive ones
// are ways of leaving it.
const (
	loopBusy = -1
	loopDone = -2
)

// loopMisuse returns the error of a panic that the translator added to a loop,
// or nil for any other.
func (b *builder) loopMisuse(in *ssa.Panic) func(*frame) error {
	iface, ok := in.X.(*ssa.MakeInterface)
	if !ok || in.Pos().IsValid() {
		return nil
	}
	text, ok := iface.X.(*ssa.Const)
	if !ok || text.Value == nil || text.Value.Kind() != constant.String {
		return nil
	}
	switch constant.StringVal(text.Value) {
	case notPassed:
		return func(*frame) error {
			return goError("range function recovered a loop body panic and did not resume panicking")
		}
	case calledLate:
		state := b.loopState(in.Block())
		return func(fr *frame) error {
			after := "function for loop body returned false"
			switch int64(fr.n[state.i]) {
			case loopBusy:
				after = "loop body panic"
			case loopDone:
				after = "whole loop exit"
			}
			return goError("range function continued iteration after " + after)
		}
	}
	return nil
}

// loopState finds the variable that a guard has just looked at.
func (b *builder) loopState(blk *ssa.BasicBlock) place {
	guard := blk.Preds[0].Instrs
	if branch, ok := guard[len(guard)-1].(*ssa.If); ok {
		if test, ok := branch.Cond.(*ssa.BinOp); ok && test.Op == token.EQL {
			return b.val(test.X)
		}
	}
	refuse(b.pos, "internal error: the guard of a loop over a function is not known")
	return place{}
}
