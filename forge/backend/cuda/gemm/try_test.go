package gemm

import (
	"os"
	"strings"
	"testing"

	"forgekernel/forge/tensor"
)

func TestTryAll(t *testing.T) {
	c := compiler(t)
	f, h := tensor.F32, tensor.BF16
	var list []Kernel
	switch os.Getenv("TRY") {
	case "wgmma":
		list = append(dense(h, h, h, 4096, 4096, 4096, false).kernels("wgmma"), dense(h, h, h, 4096, 4096, 4096, true).kernels("wgmma")...)
	case "rows":
		list = append(dense(f, h, f, 1, 4096, 4096, false).kernels("rows"), dense(f, h, f, 4, 4096, 4096, true).kernels("rows")...)
		list = append(list, dense(h, h, h, 1, 4096, 4096, false).kernels("rows")...)
	case "simt":
		list = append(dense(f, f, f, 4096, 4096, 4096, false).kernels("simt"), dense(f, f, f, 4096, 4096, 4096, true).kernels("simt")...)
	}
	src := source("sm_90a", list)
	src.Options = []string{"--ptxas-options=-v"}
	_, log, err := c.CompileLog(src)
	for _, l := range strings.Split(log, "\n") {
		if strings.Contains(l, "error") || strings.Contains(l, "Used") || strings.Contains(l, "spill") || strings.Contains(l, "C75") {
			t.Log(strings.TrimSpace(l))
		}
	}
	if err != nil {
		t.Fatalf("%.3000v", err)
	}
}
