package cpu_test

import (
	"fmt"
	"strings"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// TestFormsEqual demands the interpreter's elements of what moves, picks and counts
// them, in every type and for every kind of vectors. T stands for the type.
func TestFormsEqual(t *testing.T) {
	numbers := []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16, tensor.I64, tensor.I32}
	floats, integers := numbers[:4], numbers[4:]
	all := append(append([]tensor.DType{}, numbers...), tensor.Bool)
	var graphs []*ir.Graph
	var inputs [][]*tensor.Tensor
	for _, c := range []struct {
		types []tensor.DType
		src   string
	}{
		{all, "(%x: T[5,37]) {\n %y: T[8,41] = pad %x {low = [2, 3], high = [1, 1], value = 1.0}"},
		{all, "(%x: T[3,19,2]) {\n %y: T[3,20,2] = pad %x {low = [0, 1, 0], high = [0, 0, 0]}"},
		{all, "(%x: T[3,19], %z: T[3,2]) {\n %y: T[3,40] = concat %x, %z, %x {axis = 1}"},
		{all, "(%x: T[9,21]) {\n %y: T[21,9] = transpose %x"},
		{all, "(%x: T[9,21]) {\n %t: T[21,9] = transpose %x\n %y: T[189] = reshape %t {shape = [189]}"},
		{all, "(%x: T[9,50]) {\n %y: T[9,17] = narrow %x {axis = 1, start = 49, length = 17, step = -2}"},
		{all, "(%x: T[9,50]) {\n %y: T[9,25] = narrow %x {axis = 1, start = 1, length = 25, step = 2}"},
		{all, "(%x: T[9,1]) {\n %y: T[3,9,20] = expand %x {shape = [3, 9, 20]}"},
		{all, "(%x: T[101,23], %i: i64[5]) {\n %y: T[5,23] = gather %x, %i"},
		{all, "(%x: T[3,101,2], %i: i32[4,6]) {\n %y: T[3,4,6,2] = gather %x, %i {axis = 1}"},
		{all, "(%x: T[101], %i: i64[37]) {\n %y: T[37] = gather %x, %i"},
		{numbers, "(%x: T[5,133]) {\n %y: i64[5] = argmax %x {axis = 1}"},
		{numbers, "(%x: T[67,35]) {\n %y: i64[35] = argmin %x {axis = 0}"},
		{numbers, "(%x: T[5,133]) {\n %y: T[5] = max %x {axes = [1]}"},
		{numbers, "(%x: T[5,7,33]) {\n %y: T[7] = min %x {axes = [0, 2]}"},
		{numbers, "(%x: T[100,3]) {\n %y: T[100] = max %x {axes = [1]}"},
		{integers, "(%x: T[5,1033]) {\n %y: T[5] = sum %x {axes = [1]}"},
		{integers, "(%x: T[67,35]) {\n %y: T[35] = sum %x {axes = [0]}"},
		{floats, "(%x: T[1,3,21,37]) {\n %y: T[1,3,11,19] = max_pool2d %x {kernel = [3, 3], stride = [2, 2], padding = [1, 1]}"},
		{floats, "(%x: T[1,3,21,37]) {\n %y: T[1,3,18,35] = max_pool2d %x {kernel = [2, 2], stride = [1, 1], dilation = [3, 2]}"},
		{floats, "(%x: T[2,3,8,8]) {\n %y: T[2,3,4,4] = max_pool2d %x {kernel = [2, 2]}"},
		{floats, "(%c: T[2,2,9,21], %n: T[2,2,3,21], %i: i64[]) {\n %z: T[2,2,9,21] = neg %c\n %p: i64[] = div %i, %i\n %y: T[2,2,9,21] = kv_append %z, %n, %p"},
	} {
		for _, d := range c.types {
			g, err := ir.Parse(op.Registry, "graph f"+strings.ReplaceAll(c.src, "T[", d.String()+"[")+"\n return %y\n}")
			if err != nil {
				t.Fatal(fmt.Errorf("%w in %s", err, c.src))
			}
			graphs, inputs = append(graphs, g), append(inputs, nestInputs(t, g))
		}
	}
	equalOnTargets(t, graphs, inputs)
}
