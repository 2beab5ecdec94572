package forge

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"forgekernel/forge/tensor"
	"forgekernel/forge/weights"
)

// ReadSafetensors reads the tensors of a file of safetensors by name, all of them.
// Integers of 8 and 16 bits become i32, and u32 becomes i64; [Tensor.Convert] makes
// another element type of any. The file must not be shortened meanwhile.
func ReadSafetensors(path string) (map[string]*Tensor, error) {
	f, err := weights.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Format() != "safetensors" {
		return nil, fmt.Errorf("%s holds %s, not safetensors", path, f.Format())
	}
	tensors := make(map[string]*Tensor, len(f.Weights()))
	for _, w := range f.Weights() {
		if tensors[w.Name], err = w.Load(w.DType()); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, w.Name, err)
		}
	}
	return tensors, nil
}

// WriteSafetensors writes tensors by name as a file of safetensors.
func WriteSafetensors(w io.Writer, tensors map[string]*Tensor) error {
	var named []tensor.Named
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		if tensors[name] == nil {
			return fmt.Errorf("safetensors: %s is a nil tensor", name)
		}
		named = append(named, tensor.Named{Name: name, Tensor: tensors[name]})
	}
	return weights.WriteSafetensors(w, named)
}
