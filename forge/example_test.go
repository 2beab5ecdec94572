package forge_test

import (
	"context"
	"errors"
	"fmt"

	"forgekernel/forge"
)

func Example() {
	fns, err := forge.Define(`
def layer(x, w, b):
    return relu(x @ w + b)
`, forge.Named("layer.fs"))
	if err != nil {
		fmt.Println(err)
		return
	}
	layer := fns[0]
	x := forge.From([]float64{1, 2, 3, 4}, 2, 2)
	w := forge.From([]float64{1, -1, 0, 1}, 2, 2)
	b := forge.From([]float64{0.5, -2})
	fmt.Println(layer(x, w, b))
	fmt.Println(layer.Snapshots()[0].IR().Code)

	_, err = layer.Run(context.Background(), x, w, forge.Ones(3))
	var call *forge.CallError
	if errors.As(err, &call) {
		fmt.Println(call.Plain())
	}
	// Output:
	// f32[2,2]
	// [[1.5 0.0]
	//  [3.5 0.0]]
	// graph layer(%x: f32[2,2], %w: f32[2,2], %b: f32[2]) {  # layer.fs:2
	//   %0: f32[2,2] = matmul %x, %w                         # 3:19
	//   %1: f32[2,2] = add %0, %b                            # 3:23
	//   %2: f32[2,2] = relu %1                               # 3:12
	//   return %2
	// }
	//
	// error: add of x @ w: f32[2,2] and b: f32[3]: shapes [2,2] and [3] do not broadcast: dimension -1 is 2 on one side and 3 on the other
	//  --> layer.fs:3:17
	// 3 |     return relu(x @ w + b)
	//   |                 ^^^^^^^^^
	// hint: shapes align at the right, and each pair of dimensions must be equal or have a 1
	// note: called as layer(x: f32[2,2], w: f32[2,2], b: f32[3])
}
