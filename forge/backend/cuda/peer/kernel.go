package peer

import (
	_ "embed"
	"fmt"
	"math"
	"strings"
)

//go:embed source/peer.cu
var source string

// Shared is the text that kernels need before them, after the prelude of package cuda.
var Shared = fmt.Sprintf("#define MAIL_BLOCKS %d\n#define MAIL_WORDS %d\n", maxBlocks, maxWords) + source

// Reduction is a sum of f32 over the ranks, as one kernel. The tensor is pieces of Length
// elements, one for each block.
type Reduction struct {
	Ranks, Elements, Length int
	Adds                    bool    // another tensor is added to the sum
	Norms                   bool    // lines are normalised by their root mean square, with a weight
	Pieces                  int     // of a line, whose blocks are a cluster: 1 before capability 9.0
	Eps                     float32 // of the norm
	Aligned                 bool    // all addresses are multiples of 16
}

// MaxElements bounds a tensor: larger ones are quicker by way of a library.
const MaxElements = 64 << 10

// A block has so many elements, if it can be: what it writes and reads of mail costs more
// than the way over the bus. A cluster has at most so many blocks on every device.
const (
	piece      = 1024
	maxCluster = 8
)

// Divide sets the pieces of a tensor of which nothing is normalised.
func (r Reduction) Divide() Reduction {
	const vector = 4
	least := (r.Elements + maxBlocks - 1) / maxBlocks
	r.Length, r.Pieces = min(r.Elements, max(piece, (least+vector-1)/vector*vector)), 1
	return r
}

// DivideLines sets the pieces of lines of so many elements that are normalised, which more
// than one block can have where the device has clusters.
func (r Reduction) DivideLines(line int, clusters bool) Reduction {
	r.Length, r.Pieces = line, 1
	for clusters && r.Pieces < maxCluster && r.Length%2 == 0 && r.Length/2 >= piece && 2*r.blocks() <= maxBlocks {
		r.Length, r.Pieces = r.Length/2, r.Pieces*2
	}
	return r
}

// Fits says whether there is a kernel.
func (r Reduction) Fits() bool {
	return r.Ranks >= 2 && r.Ranks <= MaxRanks && r.Elements > 0 && r.Elements <= MaxElements && r.Length > 0 && r.Length <= maxWords && r.blocks() <= maxBlocks
}

func (r Reduction) blocks() int { return (r.Elements + r.Length - 1) / r.Length }

// Kernel writes the kernel, with a name of the caller's, and how it is launched. Its
// parameters are the sum, the normalised lines, the tensor, what is added and the weight,
// of which those that there are; then the words of [Memory.Words].
func (r Reduction) Kernel(name string) (text string, blocks, threads int) {
	width := 1
	if r.Aligned && r.Length%4 == 0 && r.Elements%4 == 0 {
		width = 4
	}
	for threads = 32; threads < 1024 && threads*width < r.Length; threads *= 2 {
	}
	parts := (r.Length + threads*width - 1) / (threads * width)
	cluster := ""
	if r.Pieces > 1 {
		cluster = fmt.Sprintf(" __cluster_dims__(%d, 1, 1)", r.Pieces)
	}
	parameters, arguments := []string{"float *sum", "const float *x"}, []string{"sum", "0", "x", "0", "0"}
	if r.Norms {
		parameters, arguments[1], arguments[4] = append(parameters[:1:1], "float *normed", parameters[1]), "normed", "weight"
	}
	if r.Adds {
		parameters, arguments[3] = append(parameters, "const float *other"), "other"
	}
	if r.Norms {
		parameters = append(parameters, "const float *weight")
	}
	boxes := make([]string, r.Ranks)
	for i := range boxes {
		boxes[i] = fmt.Sprintf("box%d", i)
		parameters = append(parameters, "mail *"+boxes[i])
	}
	text = fmt.Sprintf(`extern "C" __global__ void%[14]s __launch_bounds__(%[1]d) %[2]s(%[3]s, mail *own, unsigned *turns, const unsigned *ended, int rank, int *fault, int step) {
  all_reduce_<%[4]d, %[1]d, %[5]d, %[6]d, %[15]d, %[7]t, %[8]t>(%[9]s, %[10]d, %[11]d, __uint_as_float(0x%[12]xu), mailboxes<%[4]d>{{%[13]s}, own, turns, ended, rank});
}
`, threads, name, strings.Join(parameters, ", "), r.Ranks, parts, width, r.Adds, r.Norms, strings.Join(arguments, ", "),
		r.Length, r.Elements, math.Float32bits(r.Eps), strings.Join(boxes, ", "), cluster, r.Pieces)
	return text, r.blocks(), threads
}
