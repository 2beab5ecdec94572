package gemm

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed source/common.cu
var common string

//go:embed source/simt.cu
var simtSource string

//go:embed source/mma.cu
var mmaSource string

//go:embed source/wgmma.cu
var wgmmaSource string

//go:embed source/rows.cu
var rowsSource string

//go:embed source/direct.cu
var directSource string

// shared is text that several kernels need, with names of its own.
func shared(text string) string { return "\nnamespace gemm {\n" + text + "}\n" }

// wgmmaSteps is the instruction for results of so many columns: it adds the product of 64
// rows and 16 of k.
func wgmmaSteps(width int) string {
	var registers, operands []string
	for i := range width / 2 {
		registers = append(registers, fmt.Sprintf("%%%d", i))
		operands = append(operands, fmt.Sprintf(`"+f"(d[%d])`, i))
	}
	var b strings.Builder
	for _, t := range []string{"f16", "bf16"} {
		fmt.Fprintf(&b, `template <int a_across, int b_across> INLINE void wgmma_step(%s_t, float (&d)[%d], unsigned long long a, unsigned long long b, int add) {
  asm volatile("{.reg .pred p; setp.ne.b32 p, %%%d, 0; wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s {%s}, %%%d, %%%d, p, 1, 1, %%%d, %%%d;}"
      : %s : "l"(a), "l"(b), "n"(a_across), "n"(b_across), "r"(add));
}
`, t, width/2, width/2+4, width, t, t, strings.Join(registers, ", "), width/2, width/2+1, width/2+2, width/2+3, strings.Join(operands, ", "))
	}
	return shared(b.String())
}
