package suite

import (
	"fmt"

	"forgekernel/forge/ir"
)

// mlp is Linear(W, H), GELU, Linear(H, W/2) over B rows.
func mlp(batch, width, hidden int) Model {
	return Model{
		Name:       fmt.Sprintf("mlp_%d_%d_%d", batch, width, hidden),
		Doc:        fmt.Sprintf("Two linear layers with GELU between: %d rows of %d, %d and %d channels.", batch, width, hidden, width/2),
		Parameters: int64(width*hidden + hidden + hidden*width/2 + width/2),
		build: func(b *builder) *ir.Value {
			x := b.input("x", ir.F32(batch, width))
			h := b.geluTanh("act", b.linear("up", x, width, hidden))
			return b.linear("down", h, hidden, width/2)
		},
	}
}

// residual is x + Linear(H, W)(GELU(Linear(W, H)(x))) over B rows.
func residual(batch, width, hidden int) Model {
	return Model{
		Name:       fmt.Sprintf("residual_%d_%d_%d", batch, width, hidden),
		Doc:        fmt.Sprintf("The input plus two linear layers of it with GELU between: %d rows of %d and %d channels.", batch, width, hidden),
		Parameters: int64(2*width*hidden + hidden + width),
		build: func(b *builder) *ir.Value {
			x := b.input("x", ir.F32(batch, width))
			h := b.geluTanh("act", b.linear("up", x, width, hidden))
			return b.named("y", "add", nil, x, b.linear("down", h, hidden, width))
		},
	}
}
