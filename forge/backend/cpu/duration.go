package cpu

import "forgekernel/forge/loop"

// A team is worth its trouble when the kernels that it may share, those of at least
// sharedLeast, take teamLeast together. Chunks are no shorter than chunkLeast. All
// are nanoseconds on one thread.
const (
	teamLeast   = 8_000
	sharedLeast = 2_500
	chunkLeast  = 1_200
)

// Rates of one core, for the estimate alone: within a factor of two of what
// current machines do with data in a cache.
const (
	multiplyAdds = 6    // vectors a nanosecond
	operations   = 4    // of other vector instructions a nanosecond
	throughput   = 30.0 // bytes a nanosecond
)

// weights are the vector instructions of the operations that have more than one.
var weights = map[loop.Opcode]int{
	"div": 6, "sqrt": 10, "rsqrt": 14, "maximum": 8, "minimum": 8, "exp": 22, "log": 30, "tanh": 40,
	"sigmoid": 32, "silu": 60, "erf": 65, "gelu": 75, "gelu_tanh": 42, "sin": 30, "cos": 30, "pow": 90, "atan": 24, loop.Cast: 3, loop.Odd: 20,
}

// duration estimates the nanoseconds that a kernel takes on one thread.
func (t Target) duration(k *loop.Kernel) float64 {
	var bytes int64
	for _, p := range k.Params {
		n := int64(p.Elements())
		if k.Nest != nil { // it may touch only some of them
			n = min(n, int64(touched(k.Nest)))
		}
		bytes += n * int64(p.DType().Size())
	}
	var vectors float64 // as if all were full
	switch {
	case k.Contraction != nil:
		vectors = float64(k.Contraction.FLOPs()) / 2 / multiplyAdds
	case k.Convolution != nil:
		vectors = float64(k.Convolution.FLOPs()) / 2 / multiplyAdds
	case k.Attention != nil:
		a := k.Attention
		scores := float64(a.Batches*a.Heads) * float64(a.Queries) * float64(a.Keys)
		if a.Causal {
			scores /= 2
		}
		vectors = scores * (float64(a.D+a.E)/multiplyAdds + float64(weights["exp"])/operations)
	case k.Nest != nil:
		for _, st := range k.Nest.Stages {
			vectors += visits(k.Nest, st) * t.instructions(st) / operations
		}
	}
	return max(vectors/float64(t.Lanes), float64(bytes)/throughput)
}

// grain is how many of the units of the step's kernel make a chunk.
func (s step) grain(duration float64, units int) int {
	if split := s.schedule.Split; split > 0 {
		return (units + split - 1) / split
	}
	return grain(duration, units)
}

// grain is how many of the units of a kernel of that duration make a chunk that is
// worth handing to another thread; all of them when none is.
func grain(duration float64, units int) int {
	if duration < sharedLeast {
		return units
	}
	return min(units, 1+int(float64(units)*chunkLeast/duration))
}

// touched is the most elements of a parameter that a nest may read or write.
func touched(n *loop.Nest) float64 {
	most := 0.0
	for _, st := range n.Stages {
		most = max(most, visits(n, st))
	}
	return most
}

// visits is how often a stage is evaluated.
func visits(n *loop.Nest, st loop.Stage) float64 {
	count := 1.0
	for _, d := range n.Outer {
		count *= float64(d)
	}
	if !st.Once {
		for _, d := range n.Line {
			count *= float64(d)
		}
	}
	return count
}

// instructions counts those of a stage for a vector.
func (t Target) instructions(st loop.Stage) float64 {
	count := 2 // the store or the reduction, and the loop
	st.Expr.Walk(func(x *loop.Expr) {
		switch {
		case x.Op == loop.Load && x.Access.Strides[len(x.Access.Strides)-1] > 1:
			count += t.Lanes
		default:
			count += max(1, weights[x.Op])
		}
	})
	return float64(count)
}
