package weights

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/tensor"
)

// write puts a file into a folder of the test.
func write(t testing.TB, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// safetensors is a file with a table and data.
func safetensors(table string, data []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(table)))
	return append(append(b, table...), data...)
}

func floats(v ...float32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func TestSafetensors(t *testing.T) {
	data := append(floats(1, 2, 3, 4, 5, 6), 0x80, 0x3f, 0, 0xc0, 7, 0xff)
	path := write(t, "a.safetensors", safetensors(`{"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},`+
		`"h":{"dtype":"BF16","shape":[2],"data_offsets":[24,28]},"i":{"dtype":"I8","shape":[2,1],"data_offsets":[28,30]}}   `, data))
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Format() != "safetensors" || f.Meta()["format"] != "pt" || len(f.Weights()) != 3 {
		t.Errorf("%s, %v, %d weights", f.Format(), f.Meta(), len(f.Weights()))
	}
	for _, c := range []struct {
		name           string
		axis, from, to int
		want           []float64
	}{
		{"w", -1, 0, 0, []float64{1, 2, 3, 4, 5, 6}}, {"w", 0, 1, 2, []float64{4, 5, 6}}, {"w", 1, 1, 3, []float64{2, 3, 5, 6}}, {"w", 1, 2, 2, nil},
		{"h", -1, 0, 0, []float64{1, -2}}, {"h", 0, 1, 2, []float64{-2}}, {"i", -1, 0, 0, []float64{7, -1}}, {"i", 0, 1, 2, []float64{-1}},
	} {
		w, err := f.Weight(c.name)
		if err != nil {
			t.Fatal(err)
		}
		for _, dtype := range []tensor.DType{w.DType(), tensor.F32, tensor.F64, tensor.BF16} {
			got, err := w.Load(dtype)
			if c.axis >= 0 {
				got, err = w.LoadPart(c.axis, c.from, c.to, dtype)
			}
			if err != nil || !slices.Equal(elements(got), c.want) || got.DType() != dtype {
				t.Errorf("%s %d %d:%d as %v: %v, %v; want %v", c.name, c.axis, c.from, c.to, dtype, got, err, c.want)
			}
		}
	}
	if w, _ := f.Weight("w"); w != nil {
		if _, err := w.LoadPart(1, 2, 4, tensor.F32); err == nil {
			t.Error("a part beyond the end is loaded")
		}
	}
}

func elements(t *tensor.Tensor) []float64 {
	var list []float64
	for i := range t.Len() {
		list = append(list, t.Elem(i))
	}
	return list
}

// Each malformed file gives one error that says what is wrong with it.
func TestMalformedSafetensors(t *testing.T) {
	for want, b := range map[string][]byte{
		"neither safetensors nor GGUF":            []byte("hello there"),
		"the table has":                           append(binary.LittleEndian.AppendUint64(nil, 1<<40), '{'),
		"overlaps another":                        safetensors(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}}`, make([]byte, 6)),
		"belong to no tensor":                     safetensors(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, make([]byte, 8)),
		"the tensors have 4 bytes":                safetensors(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, make([]byte, 8)),
		"needs 8 bytes; it has 4":                 safetensors(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, make([]byte, 4)),
		"its data is at bytes 0 to 8 of 4":        safetensors(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, make([]byte, 4)),
		"its data is at bytes -4":                 safetensors(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}}`, make([]byte, 4)),
		"is no dimension":                         safetensors(`{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`, make([]byte, 4)),
		"elements":                                safetensors(`{"a":{"dtype":"F32","shape":[1000000,1000000],"data_offsets":[0,4]}}`, make([]byte, 4)),
		`"a" occurs twice`:                        safetensors(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, make([]byte, 4)),
		`elements of type "F4" are not supported`: safetensors(`{"a":{"dtype":"F4","shape":[1],"data_offsets":[0,4]}}`, make([]byte, 4)),
		"the table goes on after its end":         safetensors(`{}{}`, nil),
		"it has no data_offsets":                  safetensors(`{"a":{"dtype":"F32","shape":[1]}}`, make([]byte, 4)),
	} {
		_, err := Open(write(t, "bad.safetensors", b))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestIndex(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("one.safetensors", safetensors(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, floats(1)))
	put("two.safetensors", safetensors(`{"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, floats(2)))
	put("model.safetensors.index.json", []byte(`{"metadata":{},"weight_map":{"b":"two.safetensors","a":"one.safetensors"}}`))
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, want := range map[string]float64{"a": 1, "b": 2} {
		w, err := f.Weight(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := w.Load(tensor.F32); err != nil || got.Elem(0) != want {
			t.Errorf("%s is %v, %v", name, got, err)
		}
	}
	for want, text := range map[string]string{
		"no file of the folder": `{"weight_map":{"a":"../one.safetensors"}}`,
		"there is no weight":    `{"weight_map":{"a":"two.safetensors"}}`,
		"no such file":          `{"weight_map":{"a":"three.safetensors"}}`,
		"names no weights":      `{}`,
	} {
		put("model.safetensors.index.json", []byte(text))
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// gguf writes a file of one tensor behind metadata.
type gguf struct{ b []byte }

func (g *gguf) u32(v uint32)  { g.b = binary.LittleEndian.AppendUint32(g.b, v) }
func (g *gguf) u64(v uint64)  { g.b = binary.LittleEndian.AppendUint64(g.b, v) }
func (g *gguf) text(s string) { g.u64(uint64(len(s))); g.b = append(g.b, s...) }

func ggufFile(number uint32, dims []uint64, offset uint64, data []byte) []byte {
	g := &gguf{b: []byte("GGUF")}
	g.u32(3)
	g.u64(1)
	g.u64(2)
	g.text("general.name")
	g.u32(ggufString)
	g.text("test")
	g.text("tokens")
	g.u32(ggufArray)
	g.u32(ggufString)
	g.u64(2)
	g.text("a")
	g.text("b")
	g.text("w")
	g.u32(uint32(len(dims)))
	for _, d := range dims {
		g.u64(d)
	}
	g.u32(number)
	g.u64(offset)
	for len(g.b)%32 != 0 {
		g.b = append(g.b, 0)
	}
	return append(g.b, data...)
}

// The values of testdata/quants.json were decoded by the Python package gguf.
func TestQuantised(t *testing.T) {
	raw, err := os.ReadFile("testdata/quants.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Type, Data string
		Number     uint32
		Values     []float32
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		data, err := base64.StdEncoding.DecodeString(c.Data)
		if err != nil {
			t.Fatal(err)
		}
		n := uint64(len(c.Values) / 2)
		f, err := Open(write(t, "q.gguf", ggufFile(c.Number, []uint64{n, 2}, 0, data)))
		if err != nil {
			t.Fatal(err)
		}
		w, err := f.Weight("w")
		if err != nil || w.Type != c.Type || !slices.Equal(w.Shape, []int{2, int(n)}) {
			t.Fatalf("%s: %+v, %v", c.Type, w, err)
		}
		got, err := w.Load(tensor.F32)
		if err != nil || !slices.Equal(got.Float32(), c.Values) {
			t.Errorf("%s: %v, %v", c.Type, got, err)
		}
		part, err := w.LoadPart(1, 5, 9, tensor.F32)
		if want := append(slices.Clone(c.Values[5:9]), c.Values[n+5:n+9]...); err != nil || !slices.Equal(part.Float32(), want) {
			t.Errorf("%s, a part: %v, %v; want %v", c.Type, part, err, want)
		}
		if f.Meta()["general.name"] != "test" || !slices.Equal(f.Meta()["tokens"].([]string), []string{"a", "b"}) {
			t.Errorf("metadata %v", f.Meta())
		}
		f.Close()
	}
}

func TestMalformedGGUF(t *testing.T) {
	good := ggufFile(0, []uint64{2}, 0, floats(1, 2))
	changed := func(at int, b ...byte) []byte {
		c := slices.Clone(good)
		copy(c[at:], b)
		return c
	}
	for want, b := range map[string][]byte{
		"it has version 2":           changed(4, 2),
		"there cannot be":            changed(8, 255, 255, 255, 255, 255, 255, 255, 255),
		"has type 99":                ggufFile(99, []uint64{2}, 0, floats(1, 2)),
		"is no dimension":            ggufFile(0, []uint64{1 << 40}, 0, floats(1, 2)),
		"from 64 on":                 ggufFile(0, []uint64{2}, 64, floats(1, 2)),
		"is no multiple of 32":       ggufFile(0, []uint64{1}, 4, floats(1, 2)),
		"are no whole blocks":        ggufFile(2, []uint64{31}, 0, floats(1, 2)),
		"has 5 dimensions":           ggufFile(0, []uint64{1, 1, 1, 1, 1}, 0, floats(1)),
		"bytes are needed":           good[:60],
		"the file ends before its d": good[:len(good)-20],
	} {
		if _, err := Open(write(t, "bad.gguf", b)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Whatever the bytes, a file is refused with an error or every weight of it loads.
func FuzzOpen(f *testing.F) {
	f.Add(safetensors(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, floats(1)))
	f.Add(ggufFile(0, []uint64{2}, 0, floats(1, 2)))
	f.Add(ggufFile(14, []uint64{256}, 0, make([]byte, 210)))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := Open(write(t, "f", b))
		if err != nil {
			return
		}
		defer file.Close()
		for _, w := range file.Weights() {
			if n, _ := tensor.Elements(w.Shape); n > 1<<20 {
				continue // of a type without bytes of its own there is none; large files are slow
			}
			if _, err := w.Load(w.DType()); err != nil && !strings.Contains(err.Error(), "is no bool") {
				t.Errorf("%s: %v", w.Name, err)
			}
		}
	})
}

// Metadata of any announced size, in a file that has it but as a hole, is refused
// before it takes memory.
func TestHugeMetadata(t *testing.T) {
	g := &gguf{b: []byte("GGUF")}
	g.u32(3)
	g.u64(0)
	g.u64(1)
	g.text("tokens")
	g.u32(ggufArray)
	g.u32(ggufString)
	g.u64(1 << 33)
	path := write(t, "hole.gguf", g.b)
	if err := os.Truncate(path, 1<<36); err != nil {
		t.Fatal(err)
	}
	want := "there cannot be 8589934592 items: 67108810 bytes are left of the 67108864 that metadata may have"
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// What was decoded is not held a second time, as pages of the file.
func TestPagesAreGivenBack(t *testing.T) {
	const rows, width = 1024, 1024 // 4 MiB
	path := write(t, "a.safetensors", safetensors(`{"w":{"dtype":"F32","shape":[1024,1024],"data_offsets":[0,4194304]}}`, make([]byte, 4*rows*width)))
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := f.Weight("w")
	if err != nil {
		t.Fatal(err)
	}
	for i, load := range []func() (*tensor.Tensor, error){
		func() (*tensor.Tensor, error) { return w.Load(tensor.F32) },
		func() (*tensor.Tensor, error) { return w.LoadPart(1, 0, 512, tensor.BF16) },
	} {
		if _, err := load(); err != nil {
			t.Fatal(err)
		}
		if have := resident(t, path); have > 512 {
			t.Errorf("load %d: %d KiB of the file stay in memory", i, have)
		}
	}
}

// resident is how many KiB of a mapped file are in the memory of this process.
func resident(t *testing.T, path string) (kib int) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(maps), path)
	_, rest, known := strings.Cut(rest, "\nRss:")
	if !found || !known {
		t.Fatalf("%s is not mapped", path)
	}
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib
}
