package script

// Defaults of [Limits].
const (
	MaxSource        = 64 << 10   // bytes of one source file
	MaxInputs        = 16         // parameters of one function
	MaxOutputs       = 16         // results of one function
	MaxInputElements = 16_777_216 // of all inputs of one call together
	MaxElements      = 1 << 28    // of one intermediate tensor: 1 GiB of float32
	MaxNesting       = 100        // parentheses, calls and minus signs inside one another
	MaxOperations    = 16_384     // nodes of a traced graph, after inlining
	MaxErrors        = 10         // reported for one source
)

// Bounds of the language itself, which no program needs to exceed.
const (
	maxNumber = 64 // characters of a number
	maxName   = 64 // characters of a name
	maxRank   = 8  // dimensions of a tensor
)

// Limits bound what one source may cost. A zero field means the default, so
// the zero Limits are the documented ones.
type Limits struct {
	Source        int // bytes
	Inputs        int // parameters of one function
	Outputs       int // results of one function
	InputElements int // elements of all inputs together
	Elements      int // elements of any one tensor of the program
	Nesting       int // depth of expressions
	Operations    int // nodes of a traced graph
	Errors        int // diagnostics reported for one source
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		field *int
		value int
	}{
		{&l.Source, MaxSource},
		{&l.Inputs, MaxInputs},
		{&l.Outputs, MaxOutputs},
		{&l.InputElements, MaxInputElements},
		{&l.Elements, MaxElements},
		{&l.Nesting, MaxNesting},
		{&l.Operations, MaxOperations},
		{&l.Errors, MaxErrors},
	} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	return l
}
