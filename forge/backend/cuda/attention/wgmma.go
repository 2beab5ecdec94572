package attention

import (
	"fmt"
	"strings"

	"forgekernel/forge/tensor"
)

// accumulators names the registers of so many columns, and the operands that they are. The
// lanes have them as with an mma of 16 x 8 for each 8 columns.
func accumulators(columns int) (names, operands string) {
	var n, o []string
	for i := range columns / 2 {
		n = append(n, fmt.Sprintf("%%%d", i))
		o = append(o, fmt.Sprintf("\"+f\"(c[%d][%d])", i/4, i%4))
	}
	return strings.Join(n, ", "), strings.Join(o, ", ")
}

// wideScores is the product of 64 rows and so many columns, both in shared memory, whose
// rows are along the sum.
func wideScores(d tensor.DType, columns int) string {
	names, operands := accumulators(columns)
	n := columns / 2
	return fmt.Sprintf(`
template <> struct attention::wide_scores<%d, %d> {
  INLINE void add(float (&c)[%d][4], unsigned long long a, unsigned long long b, int onto) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %%%d, 0; wgmma.mma_async.sync.aligned.m64n%dk16.f32.%v.%v {%s}, %%%d, %%%d, p, 1, 1, 0, 0; }"
                 : %s : "l"(a), "l"(b), "r"(onto));
  }
};
`, kinds[d].kind, columns, columns/8, n+2, columns, d, d, names, n, n+1, operands)
}

// wideValues is the product of 64 rows in registers and so many columns in shared memory,
// whose rows are across the sum.
func wideValues(d tensor.DType, columns int) string {
	names, operands := accumulators(columns)
	n := columns / 2
	return fmt.Sprintf(`
template <> struct attention::wide_values<%d, %d> {
  INLINE void add(float (&c)[%d][4], const unsigned (&a)[4], unsigned long long b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n%dk16.f32.%v.%v {%s}, {%%%d, %%%d, %%%d, %%%d}, %%%d, 1, 1, 1, 1;"
                 : %s : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
};
`, kinds[d].kind, columns, columns/8, columns, d, d, names, n, n+1, n+2, n+3, n+4, operands)
}
