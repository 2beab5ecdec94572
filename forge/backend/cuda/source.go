package cuda

import (
	_ "embed"
	"regexp"
	"sync"

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

// prelude is the text that every program begins with. The operations are the text
// that backend cpu compiles for vectors, so that results are equal bit by bit, but
// for compound literals of C, which C++ writes without parentheses.
var prelude = sync.OnceValue(func() string {
	literal := regexp.MustCompile(`\((v[fildhb]|h[ld]|twice|vec)\)\{`)
	return literal.ReplaceAllString(
		scalars+source.Half()+elements+source.Arithmetic()+source.Types()+source.Elementary()+wide+folds, "$1{")
})
