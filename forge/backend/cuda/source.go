package cuda

import (
	_ "embed"
	"regexp"

	"forgekernel/forge/backend/cpu/source"
)

// scalars makes numbers of what the shared text takes for vectors.
//
//go:embed source/scalars.cu
var scalars string

//go:embed source/elements.cu
var elements string

//go:embed source/folds.cu
var folds string

//go:embed source/wide.cu
var wide string

// literal is a compound literal of C, which C++ writes without parentheses.
var literal = regexp.MustCompile(`\((v[fildhb]|h[ld]|twice|vec)\)\{`)

// prelude is the text that every program begins with. The operations are the text
// that backend cpu compiles for vectors, so that results are equal bit by bit.
var prelude = literal.ReplaceAllString(
	scalars+source.Half()+elements+source.Arithmetic()+source.Types()+source.Elementary()+wide+folds, "$1{")
