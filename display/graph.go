package display

// Graph describes a directed graph to draw. It follows the conventions of DOT:
// a node or cluster that is only mentioned exists with its ID as label, and of
// two nodes or clusters with one ID the later counts. Cycles, self-loops and
// parallel edges are allowed.
type Graph struct {
	Name      string // title of the drawing; may be empty
	Direction Direction
	Theme     Theme
	Nodes     []Node
	Edges     []Edge
	Clusters  []Cluster
}

// Direction is where edges point.
type Direction uint8

// Directions of drawing.
const (
	TopDown Direction = iota
	LeftRight
)

// Theme is the colour scheme of a drawing. Both are opaque, so a drawing reads
// well on any page.
type Theme uint8

// Themes.
const (
	Light Theme = iota
	Dark
)

// Node is one box of a graph.
type Node struct {
	ID      string
	Label   string // first line; the ID if empty
	Sub     string // second line, such as a shape; may be empty
	Class   Class
	Tooltip string // longer text shown on hovering; may be empty
	Cluster string // ID of the cluster that the node stands in; may be empty
}

// Edge is one arrow. Edges that leave a node by the same FromPort start at one
// point, as the uses of one value do; edges that enter by the same ToPort end
// at one point. Edges without a ToPort each end at a point of their own.
type Edge struct {
	From, FromPort string
	To, ToPort     string
	Label          string
}

// Cluster is a box around nodes, such as the operators of one fused kernel.
type Cluster struct {
	ID      string
	Label   string // the ID if empty
	Tooltip string
}

// Class selects a node's colour. An unknown class is drawn grey.
type Class string

// Classes of nodes in a tensor program.
const (
	ClassInput       Class = "input"
	ClassConstant    Class = "constant"
	ClassOutput      Class = "output"
	ClassElementwise Class = "elementwise"
	ClassReduction   Class = "reduction"
	ClassContraction Class = "contraction" // matmul, convolution, attention
	ClassMovement    Class = "movement"    // reshape, transpose, slice
	ClassFused       Class = "fused"
	ClassTransfer    Class = "transfer" // collectives, copies between devices
	ClassState       Class = "state"    // caches threaded through a program
)
