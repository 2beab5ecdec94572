package proto

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// Whatever the bytes, decoding ends with an error or a model whose parts are no
// larger than the bytes.
func FuzzDecode(f *testing.F) {
	node := protowire.AppendBytes(protowire.AppendTag(nil, 4, protowire.BytesType), []byte("Relu"))
	graph := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), node)
	tensor := protowire.AppendBytes(protowire.AppendTag(nil, 9, protowire.BytesType), []byte{0, 0, 128, 63})
	graph = protowire.AppendBytes(protowire.AppendTag(graph, 5, protowire.BytesType), tensor)
	f.Add([]byte{})
	f.Add(protowire.AppendBytes(protowire.AppendTag(nil, 7, protowire.BytesType), graph))
	f.Add([]byte{0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := Decode(raw)
		if err != nil {
			return
		}
		if n := len(m.Graph.Nodes) + len(m.Graph.Initializers) + len(m.Functions); n > len(raw) {
			t.Errorf("%d parts in %d bytes", n, len(raw))
		}
		for _, w := range m.Graph.Initializers {
			if len(w.Raw) > len(raw) || len(w.Int64s) > len(raw) {
				t.Errorf("%d and %d elements in %d bytes", len(w.Raw), len(w.Int64s), len(raw))
			}
		}
	})
}
