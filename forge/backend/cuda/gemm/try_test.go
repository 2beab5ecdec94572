package gemm

import (
	"testing"

	"forgekernel/forge/tensor"
)

func TestTryAll(t *testing.T) {
	c := compiler(t)
	f, h, q := tensor.F32, tensor.BF16, tensor.F16
	var list []Kernel
	for _, s := range []*Shape{dense(f, f, f, 32, 256, 128, false), dense(f, h, f, 8, 77, 133, true), dense(q, q, q, 32, 256, 128, true)} {
		list = append(list, s.kernels("direct")...)
	}
	list = append(list, dense(f, f, f, 64, 64, 64, false).kernels("split")...)
	list = append(list, dense(h, h, h, 64, 64, 64, false).kernels("split")...)
	list = append(list, dense(h, h, h, 4, 64, 64, false).kernels("rows")[:3]...)
	src := source("sm_90a", list)
	src.Options = []string{"--ptxas-options=-v"}
	_, log, err := c.CompileLog(src)
	t.Log(log)
	if err != nil {
		t.Fatal(err)
	}
}
