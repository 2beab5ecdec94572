package op

import (
	"context"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/tensor"
)

// TestOneRank runs the operators without any group.
func TestOneRank(t *testing.T) {
	x := random(t, 1, 2, 4)
	for _, name := range []string{"all_reduce", "reduce_scatter", "all_gather", "broadcast"} {
		out, err := runNode(t.Context(), "%x: f32[2,4]", "f32[2,4]", name+" %x {size = 1}", x)
		if err != nil {
			t.Fatal(err)
		}
		if !tensor.Identical(out, x) {
			t.Errorf("%s on one rank is not the identity", name)
		}
	}
}

func TestGroupErrors(t *testing.T) {
	x := random(t, 1, 2, 4)
	in3 := backend.WithGroup(t.Context(), "tp", threeRanks{})
	for _, c := range []struct {
		ctx                  context.Context
		inputs, result, node string
		want                 string
	}{
		{t.Context(), "%x: f32[2,4]", "f32[2,4]", "all_reduce %x {size = 2}", `the program runs on 2 ranks of group "world", which this run does not have`},
		{t.Context(), "%x: f32[2,4]", "i64[]", "send %x {size = 2, peer = 1}", `the program runs on 2 ranks of group "world", which this run does not have`},
		{in3, "%x: f32[2,4]", "i64[]", `send %x {group = "tp", size = 3, peer = 1}`, "attribute peer is 1, the rank of this process itself"},
		{in3, "%x: f32[2,4]", "f32[4,4]", `all_gather %x {group = "tp", size = 2}`, `the program was compiled for 2 ranks of group "tp", which has 3`},
	} {
		if _, err := runNode(c.ctx, c.inputs, c.result, c.node, x); err == nil || err.Error() != c.want {
			t.Errorf("%s: got error %v, want %s", c.node, err, c.want)
		}
	}
}

// threeRanks is a group of three, seen from rank 1, whose other ranks never
// answer.
type threeRanks struct{ backend.Collective }

func (threeRanks) Rank() int { return 1 }
func (threeRanks) Size() int { return 3 }
