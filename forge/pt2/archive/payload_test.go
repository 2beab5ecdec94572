package archive

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
)

func symbols(list ...int64) []SymInt {
	out := make([]SymInt, len(list))
	for i, n := range list {
		out[i].Int = n
	}
	return out
}

func payload(d ScalarType, sizes, strides []int64, offset int64, raw []byte) *Payload {
	return &Payload{name: "w", path: "weight_0", raw: raw, Meta: &Meta{DType: d, Layout: Strided, Sizes: symbols(sizes...), Strides: symbols(strides...), Offset: SymInt{Int: offset}}}
}

func floats(list ...float32) []byte {
	var raw []byte
	for _, x := range list {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return raw
}

// A payload is any strided view of its record; an empty record stands for zeros.
func TestTensor(t *testing.T) {
	six := floats(0, 1, 2, 3, 4, 5)
	for name, c := range map[string]struct {
		p    *Payload
		want []float64
	}{
		"whole":         {payload(7, []int64{2, 3}, []int64{3, 1}, 0, six), []float64{0, 1, 2, 3, 4, 5}},
		"transposed":    {payload(7, []int64{3, 2}, []int64{1, 3}, 0, six), []float64{0, 3, 1, 4, 2, 5}},
		"part":          {payload(7, []int64{2}, []int64{1}, 3, six), []float64{3, 4}},
		"every other":   {payload(7, []int64{3}, []int64{2}, 1, six), []float64{1, 3, 5}},
		"repeated":      {payload(7, []int64{2, 2}, []int64{0, 1}, 4, six), []float64{4, 5, 4, 5}},
		"scalar":        {payload(7, nil, nil, 5, six), []float64{5}},
		"no elements":   {payload(7, []int64{0, 9}, []int64{9, 1}, 0, six), nil},
		"empty record":  {payload(7, []int64{2}, []int64{1}, 0, nil), []float64{0, 0}},
		"bytes":         {payload(1, []int64{2}, []int64{1}, 1, []byte{1, 200, 255}), []float64{200, 255}},
		"signed bytes":  {payload(2, []int64{2}, []int64{1}, 0, []byte{0x80, 0x7f}), []float64{-128, 127}},
		"bools":         {payload(12, []int64{3}, []int64{1}, 0, []byte{0, 1, 1}), []float64{0, 1, 1}},
		"half":          {payload(6, []int64{2}, []int64{1}, 0, []byte{0, 0x3c, 0, 0xc0}), []float64{1, -2}},
		"bfloat16":      {payload(13, []int64{1}, []int64{1}, 0, []byte{0xc0, 0x3f}), []float64{1.5}},
		"long":          {payload(5, []int64{1}, []int64{1}, 0, []byte{0xfe, 255, 255, 255, 255, 255, 255, 255}), []float64{-2}},
		"doubles apart": {payload(8, []int64{1}, []int64{1}, 0, binary.LittleEndian.AppendUint64(nil, math.Float64bits(0.1))), []float64{0.1}},
	} {
		if err := c.p.check(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := c.p.Tensor()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(got.Values(), c.want) || int64(got.Bytes()) != c.p.Bytes() {
			t.Errorf("%s: got %v of %d bytes, want %v of %d", name, got.Values(), got.Bytes(), c.want, c.p.Bytes())
		}
	}
}

// Payloads of one record have the same key where they are the same tensor only.
func TestKey(t *testing.T) {
	six := floats(0, 1, 2, 3, 4, 5)
	a, b := payload(7, []int64{2, 3}, []int64{3, 1}, 0, six), payload(7, []int64{2, 3}, []int64{3, 1}, 0, six)
	other := payload(7, []int64{2, 3}, []int64{1, 2}, 0, six)
	if a.Key() != b.Key() || a.Key() == other.Key() {
		t.Errorf("the keys are %s, %s and %s", a.Key(), b.Key(), other.Key())
	}
	if err := checkAliases(map[string]*Payload{"a": a, "b": b, "t": other}); err != nil {
		t.Errorf("views of the whole record: %v", err)
	}
	part := payload(7, []int64{2}, []int64{1}, 0, six)
	if err := checkAliases(map[string]*Payload{"a": a, "part": part}); err == nil || !strings.Contains(err.Error(), "does not say where in it they begin") {
		t.Errorf("a part without an offset: %v", err)
	}
}

// FuzzPayload reads what passes the check, which must stay within the record.
func FuzzPayload(f *testing.F) {
	f.Add(uint8(7), int64(2), int64(3), int64(3), int64(1), int64(0), floats(0, 1, 2, 3, 4, 5))
	f.Add(uint8(1), int64(1<<31), int64(1<<31), int64(1<<62), int64(1<<62), int64(math.MaxInt64), []byte{1, 2, 3})
	f.Add(uint8(12), int64(-1), int64(0), int64(-1), int64(1), int64(-5), []byte{7})
	f.Fuzz(func(t *testing.T, d uint8, rows, columns, rowStride, columnStride, offset int64, raw []byte) {
		p := payload(ScalarType(d), []int64{rows, columns}, []int64{rowStride, columnStride}, offset, raw)
		if p.check() != nil || p.Bytes() > 1<<20 {
			return
		}
		x, err := p.Tensor()
		switch {
		case err != nil && (d == 35 || d == 12): // beyond int64, or neither 0 nor 1
		case err != nil:
			t.Errorf("what was checked cannot be read: %v", err)
		case x.Len() != int(rows*columns) || int64(x.Bytes()) != p.Bytes():
			t.Errorf("%d by %d elements became %v, %d bytes instead of %d", rows, columns, x.Shape(), x.Bytes(), p.Bytes())
		}
	})
}
