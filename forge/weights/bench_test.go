package weights

import (
	"bytes"
	"io"
	"testing"

	"forgekernel/forge/tensor"
)

// Reading and writing 64 MiB beside the copy that neither can do without.
func BenchmarkSafetensors(b *testing.B) {
	const bytesOf = 64 << 20
	for _, dtype := range []tensor.DType{tensor.F64, tensor.F32, tensor.BF16, tensor.Bool} {
		x, err := tensor.Zeros(dtype, bytesOf/dtype.Size())
		if err != nil {
			b.Fatal(err)
		}
		var file bytes.Buffer
		if err := WriteSafetensors(&file, []tensor.Named{{Name: "x", Tensor: x}}); err != nil {
			b.Fatal(err)
		}
		path := write(b, "x", file.Bytes())
		b.Run(dtype.String()+"/copy", func(b *testing.B) {
			b.SetBytes(bytesOf)
			for b.Loop() {
				x.Clone()
			}
		})
		b.Run(dtype.String()+"/read", func(b *testing.B) {
			b.SetBytes(bytesOf)
			for b.Loop() {
				f, err := Open(path)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := f.Weights()[0].Load(dtype); err != nil {
					b.Fatal(err)
				}
				f.Close()
			}
		})
		b.Run(dtype.String()+"/write", func(b *testing.B) {
			b.SetBytes(bytesOf)
			for b.Loop() {
				if err := WriteSafetensors(io.Discard, []tensor.Named{{Name: "x", Tensor: x}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
