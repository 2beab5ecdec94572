package weights

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"forgekernel/forge/tensor"
)

// WriteSafetensors writes tensors as a file of safetensors. Those with wide elements
// come first and the table is padded, so that every tensor begins where its elements
// may be read in place.
func WriteSafetensors(w io.Writer, tensors []tensor.Named) error {
	byWidth := make([]tensor.Named, 0, len(tensors))
	for size := 8; size > 0; size /= 2 {
		for _, n := range tensors {
			if n.Tensor.DType().Size() == size {
				byWidth = append(byWidth, n)
			}
		}
	}
	table := make(map[string]header, len(tensors))
	var end int64
	for _, n := range byWidth {
		if _, twice := table[n.Name]; twice || n.Name == "__metadata__" {
			return fmt.Errorf("safetensors: %q cannot name a tensor here", n.Name)
		}
		h := header{DType: strings.ToUpper(n.Tensor.DType().String()), Shape: []int64{}, Offsets: &[2]int64{end, end + int64(n.Tensor.Bytes())}}
		for _, d := range n.Tensor.Shape() {
			h.Shape = append(h.Shape, int64(d))
		}
		table[n.Name], end = h, h.Offsets[1]
	}
	text, err := json.Marshal(table)
	if err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	text = append(text, strings.Repeat(" ", -len(text)&7)...)
	if _, err := w.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)); err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	for _, n := range byWidth {
		if err := n.Tensor.EncodeTo(w); err != nil {
			return fmt.Errorf("safetensors: %s: %w", n.Name, err)
		}
	}
	return nil
}
