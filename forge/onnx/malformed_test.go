package onnx

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/importer"
	"forgekernel/forge/onnx/proto"
	"forgekernel/forge/tensor"
)

// small is a model with one of most kinds of messages: an initializer, attributes,
// a function, an If and a declared input.
func small() *proto.Model {
	then := &proto.Graph{Nodes: []*proto.Node{node("Add", names("x", "w"), names("t"))}, Outputs: untyped("t")}
	otherwise := &proto.Graph{Nodes: []*proto.Node{node("Sub", names("x", "w"), names("e"))}, Outputs: untyped("e")}
	call := &proto.Node{Op: "Twice", Domain: "local", Inputs: names("b"), Outputs: names("y")}
	g := &proto.Graph{
		Inputs:       []*proto.ValueInfo{info("x", proto.Float, 2), info("c", proto.Bool)},
		Initializers: []*proto.Tensor{floats("w", 1, 2)},
		Nodes:        []*proto.Node{node("If", names("c"), names("b"), graphAttr("then_branch", then), graphAttr("else_branch", otherwise)), call},
		Outputs:      untyped("y"),
	}
	twice := &proto.Function{
		Name: "Twice", Domain: "local", Inputs: names("a"), Outputs: names("r"), Opsets: []proto.Opset{{Version: 17}},
		Nodes: []*proto.Node{node("Add", names("a", "a"), names("r"))},
	}
	return modelOf(17, g, twice)
}

// A file that ends anywhere is refused, or is a model of fewer parts.
func TestTruncated(t *testing.T) {
	raw := encode(small())
	m, err := Read("whole.onnx", raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := importAnything(t, m); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for n := range raw {
		m, err := Read("part.onnx", raw[:n])
		if err == nil {
			err = importAnything(t, m)
		}
		if err != nil {
			refused++
		}
	}
	if refused < len(raw)-4 { // a cut between the functions' and operator sets' messages can leave a model
		t.Errorf("%d of %d truncated files were refused", refused, len(raw))
	}
}

// Every byte of a file is changed: nothing but an error or a graph comes of it.
func TestOverwritten(t *testing.T) {
	raw := encode(small())
	for i := range raw {
		for _, b := range []byte{0, 0x7f, 0x80, 0xff, raw[i] ^ 1, raw[i] + 8} {
			changed := append([]byte{}, raw...)
			changed[i] = b
			if m, err := Read("changed.onnx", changed); err == nil {
				importAnything(t, m)
			}
		}
	}
}

func one(nodes ...*proto.Node) *proto.Graph {
	return &proto.Graph{Nodes: nodes, Inputs: []*proto.ValueInfo{info("x", proto.Float, 2)}, Outputs: untyped("y")}
}

func with(g *proto.Graph, initializers ...*proto.Tensor) *proto.Graph {
	g.Initializers = append(g.Initializers, initializers...)
	return g
}

// nested puts a graph into Ifs on a known condition.
func nested(depth int) *proto.Graph {
	g := &proto.Graph{Nodes: []*proto.Node{node("Identity", names("x"), names("y"))}, Outputs: untyped("y")}
	for range depth {
		g = &proto.Graph{Nodes: []*proto.Node{node("If", names("true"), names("y"), graphAttr("then_branch", g), graphAttr("else_branch", g))}, Outputs: untyped("y")}
		if len(encodeGraph(g)) > 1<<16 {
			g.Nodes[0].Attrs = g.Nodes[0].Attrs[:1]
		}
	}
	return g
}

// chain is functions f0 … of which each calls the next twice.
func chainOfFunctions(n int, leaf *proto.Node) []*proto.Function {
	var list []*proto.Function
	for i := range n {
		f := &proto.Function{Name: fmt.Sprint("f", i), Domain: "local", Inputs: names("a"), Outputs: names("r"), Opsets: []proto.Opset{{Version: 17}, {Domain: "local", Version: 1}}}
		if i == n-1 {
			f.Nodes = []*proto.Node{leaf}
		} else {
			next := fmt.Sprint("f", i+1)
			f.Nodes = []*proto.Node{{Op: next, Domain: "local", Inputs: names("a"), Outputs: names("m")}, {Op: next, Domain: "local", Inputs: names("m"), Outputs: names("r")}}
		}
		list = append(list, f)
	}
	return list
}

func local(op string) *proto.Node {
	return &proto.Node{Op: op, Domain: "local", Inputs: names("x"), Outputs: names("y")}
}

func loopOf(rounds int64, body ...*proto.Node) *proto.Graph {
	b := &proto.Graph{Inputs: untyped("i", "c", "v"), Nodes: append(body, node("Identity", names("c"), names("c2"))), Outputs: untyped("c2", "v2")}
	return with(one(node("Loop", names("n", "", "x"), names("y"), graphAttr("body", b))), scalar("n", rounds))
}

var malformed = []struct {
	name  string
	model *proto.Model
	want  string
}{
	{"no graph", &proto.Model{Opsets: []proto.Opset{{Version: 17}}}, "there is no graph"},
	{"no operator set", &proto.Model{Graph: one(node("Relu", names("x"), names("y")))}, "names no version of the default operator set"},
	{"future operator set", modelOf(99, one(node("Relu", names("x"), names("y")))), "operator set 99 is not supported; versions 1 to 24 are"},
	{"operator set twice", &proto.Model{Opsets: []proto.Opset{{Version: 17}, {Version: 18}}, Graph: one()}, `the operator set of domain "" is named twice`},
	{"no outputs", modelOf(17, &proto.Graph{}), "the graph has no outputs"},
	{"undefined output", modelOf(17, one()), `output "y" is defined by no node`},
	{"undefined operand", modelOf(17, one(node("Relu", names("z"), names("y")))), `Relu -> "y" reads "z", which no earlier node defines`},
	{"cycle", modelOf(17, one(node("Relu", names("b"), names("a")), node("Relu", names("a"), names("b")), node("Relu", names("b"), names("y")))), `reads "b", which no earlier node defines`},
	{"reads itself", modelOf(17, one(node("Relu", names("y"), names("y")))), `reads "y", which no earlier node defines`},
	{"output twice", modelOf(17, one(node("Relu", names("x"), names("y")), node("Abs", names("x"), names("y")))), `"y" is defined twice`},
	{"output shadows input", modelOf(17, one(node("Relu", names("x"), names("x")))), `"x" is defined twice`},
	{"initializer twice", modelOf(17, with(one(), floats("w", 1), floats("w", 1))), `the initializer "w" occurs twice`},
	{"input twice", modelOf(17, &proto.Graph{Inputs: []*proto.ValueInfo{info("x", proto.Float), info("x", proto.Float)}, Outputs: untyped("x")}), `the input "x" occurs twice`},
	{"function twice", modelOf(17, one(), chainOfFunctions(1, node("Relu", names("a"), names("r")))[0], chainOfFunctions(1, node("Relu", names("a"), names("r")))[0]), "the function local.f0 is defined twice"},
	{"input of a sequence", modelOf(17, &proto.Graph{Inputs: []*proto.ValueInfo{{Name: "x", Type: &proto.Type{Kind: "sequence"}}}, Outputs: untyped("x")}), "it is a sequence; only tensors are supported"},
	{"input of strings", modelOf(17, &proto.Graph{Inputs: []*proto.ValueInfo{info("x", proto.String)}, Outputs: untyped("x")}), "elements of type string are not supported"},
	{"negative dimension", modelOf(17, &proto.Graph{Inputs: []*proto.ValueInfo{info("x", proto.Float, -2)}, Outputs: untyped("x")}), "-2 is no dimension"},
	{"high rank", modelOf(17, &proto.Graph{Inputs: []*proto.ValueInfo{info("x", proto.Float, 1, 1, 1, 1, 1, 1, 1, 1, 1)}, Outputs: untyped("x")}), "it has rank 9; the limit is 8"},
	{"large input", modelOf(17, &proto.Graph{Inputs: []*proto.ValueInfo{info("x", proto.Float, math.MaxInt32, math.MaxInt32)}, Outputs: untyped("x")}), "the limit for one tensor"},
	{"initializer too short", modelOf(17, with(one(), &proto.Tensor{Name: "w", Type: proto.Float, Dims: []int64{1 << 30}, HasRaw: true, Raw: []byte{1}})), "float32[1073741824] has 1 bytes of data; it needs 4294967296"},
	{"initializer of many dimensions", modelOf(17, with(one(), &proto.Tensor{Name: "w", Type: proto.Float, Dims: []int64{1 << 31, 1 << 31, 1 << 31}})), "2147483648 is no dimension"},
	{"initializer of the wrong field", modelOf(17, with(one(), &proto.Tensor{Name: "w", Type: proto.Float, Dims: []int64{1}, Int32s: []int32{1}})), "its data is not in the field of its type"},
	{"initializer of floats of 8 bits", modelOf(17, with(one(), &proto.Tensor{Name: "w", Type: 17, Dims: []int64{1}, HasRaw: true, Raw: []byte{1}})), "elements of type float8e4m3fn are not supported"},
	{"external data of no folder", modelOf(17, with(one(), &proto.Tensor{Name: "w", Type: proto.Float, Location: 1, External: []proto.Entry{{Key: "location", Value: "w.bin"}}})), "the model was not read from a folder"},

	{"function calls itself", modelOf(17, one(local("f0")), &proto.Function{Name: "f0", Domain: "local", Inputs: names("a"), Outputs: names("r"), Opsets: []proto.Opset{{Domain: "local", Version: 1}},
		Nodes: []*proto.Node{{Op: "f0", Domain: "local", Inputs: names("a"), Outputs: names("r")}}}), "functions call one another more than 64 deep"},
	{"functions double", modelOf(17, one(local("f0")), chainOfFunctions(40, node("Relu", names("a"), names("r")))...), "more than 262144 nodes are to be imported"},
	{"branches nest", modelOf(17, with(one(node("If", names("true"), names("y"), graphAttr("then_branch", nested(21)))), &proto.Tensor{Name: "true", Type: proto.Bool, Int32s: []int32{1}})), "messages are nested more than 64 deep"},
	{"long loop", modelOf(17, loopOf(math.MaxInt64, node("Relu", names("v"), names("v2")))), "the loop runs for more than 4096 rounds"},
	{"nested loops", modelOf(17, loopOf(4000, &proto.Node{Op: "Loop", Inputs: names("n", "", "v"), Outputs: names("v2"), Attrs: []*proto.Attribute{graphAttr("body", &proto.Graph{
		Inputs: untyped("j", "d", "w"), Outputs: untyped("d", "w")})}})), "more than 262144 nodes are to be imported"},
	{"loop without outputs", modelOf(17, one(node("Loop", names("", "", "x"), names("y"), graphAttr("body", &proto.Graph{})))), "the body gives 0 outputs for a condition and 1 carried values"},
	{"scan without outputs", modelOf(17, one(node("Scan", names("x", "x"), names("y"), intAttr("num_scan_inputs", 1), graphAttr("body", &proto.Graph{})))), "the body gives 0 outputs for 1 carried values"},
	{"long recurrence", modelOf(17, with(&proto.Graph{Outputs: untyped("y"), Nodes: []*proto.Node{
		node("ConstantOfShape", names("steps"), names("x")), node("RNN", names("x", "w", "r"), names("y"))}},
		ints("steps", 1<<24, 1, 1), cube("w"), cube("r"))), "the program has more than 524288 nodes"},

	{"large range", modelOf(17, with(one(node("Range", names("a", "b", "c"), names("y"))), scalar("a", 0), scalar("b", 1<<30), scalar("c", 1))), "a constant of more than 64 MiB is needed"},
	{"deep one-hot", modelOf(17, with(one(node("OneHot", names("a", "b", "c"), names("y"))), scalar("a", 0), scalar("b", 1<<30), floats("c", 0, 1))), "a constant of more than 64 MiB is needed"},
	{"wide padding", modelOf(17, with(one(node("Pad", names("x", "p"), names("y"), textAttr("mode", "edge"))), ints("p", 1<<30, 0))), "a constant of more than 64 MiB is needed"},
	{"padding beyond numbers", modelOf(17, with(one(node("Pad", names("x", "p"), names("y"))), ints("p", math.MaxInt64, math.MaxInt64))), "9223372036854775807 is no padding"},
	{"many repeats", modelOf(17, with(one(node("Tile", names("x", "r"), names("y"))), ints("r", math.MaxInt32))), "limit"},
	{"large expansion", modelOf(17, with(one(node("Expand", names("x", "s"), names("y"))), ints("s", math.MaxInt32, math.MaxInt32, 2))), "limit"},
	{"large resize", modelOf(17, with(one(node("Resize", names("x", "", "", "s"), names("y"))), ints("s", 1<<30))), "a constant of more than 64 MiB is needed"},
	{"many parts", modelOf(18, one(node("Split", names("x"), names("y"), intAttr("num_outputs", 1<<60)))), "num_outputs is 1152921504606846976; the node has 1"},
	{"blocks of 2^32", modelOf(17, &proto.Graph{Inputs: []*proto.ValueInfo{info("x", proto.Float, 1, 4, 2, 2)}, Outputs: untyped("y"), Nodes: []*proto.Node{node("DepthToSpace", names("x"), names("y"), intAttr("blocksize", 1<<32))}}), "blocksize is 4294967296"},
	{"convolution of a vector", modelOf(17, one(node("Conv", names("x", "x"), names("y")))), "operand 0 has rank 1"},
	{"normalised scalar", modelOf(17, &proto.Graph{Inputs: []*proto.ValueInfo{info("x", proto.Float)}, Outputs: untyped("y"), Nodes: []*proto.Node{node("BatchNormalization", names("x", "x", "x", "x", "x"), names("y"))}}), "the operand has rank 0 and no dimension 1"},
	{"equation of other letters", modelOf(17, one(node("Einsum", names("x"), names("y"), textAttr("equation", "ж->ж")))), "is no term of letters"},
	{"zeros along no axis", modelOf(17, with(&proto.Graph{Inputs: []*proto.ValueInfo{info("x", proto.Float)}, Outputs: untyped("y"), Nodes: []*proto.Node{node("QuantizeLinear", names("x", "s", "z"), names("y"))}},
		&proto.Tensor{Name: "s", Type: proto.Float, Floats: []float32{1}}, &proto.Tensor{Name: "z", Type: proto.Uint8, Dims: []int64{2}, Int32s: []int32{1, 2}})), "the operand has rank 0 and no dimension 0"},
	{"skip of a scalar", modelOf(17, &proto.Graph{Inputs: []*proto.ValueInfo{info("x", proto.Float)}, Outputs: untyped("y"), Nodes: []*proto.Node{
		{Op: "SkipSimplifiedLayerNormalization", Domain: "com.microsoft", Inputs: names("x", "x", "x"), Outputs: names("y")}}}), "axis -1 is outside rank 0"},
	{"no outputs of a node", modelOf(17, one(node("Relu", names("x"), nil))), "Relu has no outputs"},
	{"scales that are no numbers", modelOf(18, with(one(node("Resize", names("x", "", "s"), names("y"))), &proto.Tensor{Name: "s", Type: proto.Float, Dims: []int64{1}, Floats: []float32{float32(math.NaN())}})), "by the factor NaN"},
	{"shape of many numbers", modelOf(17, with(one(node("Reshape", names("x", "s"), names("y"))), ints("s", longList()...))), "shape ["},
	{"name of many letters", modelOf(17, one(node(strings.Repeat("Relu", 1<<20), names("x"), names("y")))), "1 nodes are not supported"},
	{"equation of many terms", modelOf(17, one(node("Einsum", slices.Repeat(names("x"), 1000), names("y"), textAttr("equation", strings.Repeat("i,", 999)+"i->i")))), "has 1000 terms for 1000 operands; at most 64 are supported"},
	{"attribute of another type", modelOf(17, one(node("Softmax", names("x"), names("y"), textAttr("axis", "1")))), "attribute axis has type 3 instead of 2"},
	{"operand that nobody reads", modelOf(17, one(node("Softmax", names("x", "x"), names("y")))), `operand 1, "x", is not supported`},
	{"resize without scales", modelOf(10, one(node("Resize", names("x"), names("y")))), "there are neither scales nor sizes"},
}

// longList has 100,000 numbers.
func longList() []int64 { return make([]int64, 100_000) }

func cube(name string) *proto.Tensor {
	return &proto.Tensor{Name: name, Type: proto.Float, Dims: []int64{1, 1, 1}, Floats: []float32{1}}
}

// Each malformed model gives one error, in memory that does not depend on the sizes
// that it names.
func TestMalformed(t *testing.T) {
	for _, tt := range malformed {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && strings.Contains(tt.want, "more than") {
				t.Skip("a limit is reached, which takes seconds under the race detector")
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m, err := Read("bad.onnx", encode(tt.model))
			if err == nil {
				_, err = m.Graph(context.Background(), importer.Binding{})
			}
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
			if err != nil && len(err.Error()) > 2*MaxError {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 2048 {
				t.Errorf("%d MiB were allocated", used)
			}
		})
	}
}

// Constants that are small enough one by one are bounded in all, too.
func TestManyConstants(t *testing.T) {
	p := modelOf(17, one(node("Trilu", names("x"), names("y"))))
	c := &call{imports: &imports{model: read(t, p)}, node: p.Graph.Nodes[0]}
	made := 0
	err := c.build(operator{1, func(c *call) {
		for range 64 {
			made += c.roomFor(1, 32<<20)
		}
	}})
	if want := "constants of more than 1024 MiB in all are needed"; err == nil || err.Error() != want || made != MaxMade {
		t.Errorf("got %v after %d bytes, want %q", err, made, want)
	}
}

// A product of large known matrices is left to the program.
func TestExpensiveFold(t *testing.T) {
	g := with(one(node("ConstantOfShape", names("shape"), names("a")), node("MatMul", names("a", "a"), names("b")), node("Add", names("x", "b"), names("y"))), ints("shape", 2048, 2048))
	g.Inputs[0] = info("x", proto.Float, 2048)
	p, err := read(t, modelOf(17, g)).Graph(context.Background(), importer.Binding{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(p.Graph.String(), "matmul") {
		t.Errorf("the product was evaluated:\n%v", p.Graph)
	}
}

func externalTensor(name string, n int64, entries ...string) *proto.Tensor {
	t := &proto.Tensor{Name: name, Type: proto.Float, Dims: []int64{n}, Location: 1}
	for i := 0; i+1 < len(entries); i += 2 {
		t.External = append(t.External, proto.Entry{Key: entries[i], Value: entries[i+1]})
	}
	return t
}

func TestExternalData(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "model")
	data := make([]byte, 64)
	for i := range 16 {
		bits := math.Float32bits(float32(i))
		data[4*i], data[4*i+1], data[4*i+2], data[4*i+3] = byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24)
	}
	for _, err := range []error{
		os.MkdirAll(filepath.Join(folder, "sub"), 0o755),
		os.WriteFile(filepath.Join(dir, "secret"), data, 0o644), os.WriteFile(filepath.Join(folder, "w.bin"), data, 0o644),
		os.WriteFile(filepath.Join(folder, "sub", "w.bin"), data, 0o644), os.WriteFile(filepath.Join(folder, "twin"), data, 0o644),
		os.Symlink("w.bin", filepath.Join(folder, "link")), os.Symlink("..", filepath.Join(folder, "up")),
		os.Link(filepath.Join(folder, "twin"), filepath.Join(folder, "hard")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w := func(entries ...string) []*proto.Tensor { return []*proto.Tensor{externalTensor("w", 2, entries...)} }
	pair := func(a, b string) []*proto.Tensor {
		return []*proto.Tensor{externalTensor("w", 2, "location", "w.bin", "offset", a, "length", "8"), externalTensor("v", 2, "location", "w.bin", "offset", b, "length", "8")}
	}
	for _, tt := range []struct {
		name    string
		tensors []*proto.Tensor
		want    string // empty when it is read
	}{
		{"plain", w("location", "w.bin", "offset", "8", "length", "8"), ""},
		{"folder", w("location", "sub/w.bin", "offset", "8", "length", "8"), ""},
		{"shared wholly", pair("8", "8"), ""},
		{"neighbours", pair("8", "16"), ""},
		{"overlapping", pair("8", "12"), "bytes 12 to 20 overlap those of another tensor"},
		{"overlapping before", pair("8", "4"), "bytes 4 to 12 overlap those of another tensor"},
		{"negative offset", w("location", "w.bin", "offset", "-8"), `offset: "-8" is not a number of bytes`},
		{"signed offset", w("location", "w.bin", "offset", "+8"), `offset: "+8" is not a number of bytes`},
		{"huge offset", w("location", "w.bin", "offset", "9223372036854775807"), "it begins at byte 9223372036854775807 of 64"},
		{"huge length", w("location", "w.bin", "offset", "8", "length", "9223372036854775807"), "it ends at byte"},
		{"beyond 63 bits", w("location", "w.bin", "offset", "18446744073709551615"), "is not a number of bytes"},
		{"wrong length", w("location", "w.bin", "length", "4"), "it has 4 bytes; the tensor needs 8"},
		{"rest of the file", w("location", "w.bin"), "it has 64 bytes; the tensor needs 8"},
		{"no location", w("offset", "0"), "there is no location"},
		{"key twice", w("location", "w.bin", "location", "../secret"), `the key "location" occurs twice`},
		{"unknown key", w("location", "w.bin", "device", "0"), `the key "device" is unknown`},
		{"absolute", w("location", filepath.Join(dir, "secret")), "the location is no plain path within the model's folder"},
		{"parent", w("location", "../secret"), "the location is no plain path within the model's folder"},
		{"hidden parent", w("location", "sub/../../secret"), "the location is no plain path within the model's folder"},
		{"backslashes", w("location", `..\secret`), "no such file"},
		{"nothing there", w("location", "none"), "no such file"},
		{"symbolic link", w("location", "link"), "it is not a regular file"},
		{"linked folder", w("location", "up/secret"), "escapes"},
		{"hard link", w("location", "hard"), "the file has another name as well"},
		{"directory", w("location", "sub"), "it is not a regular file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := with(one(node("Add", names("x", "w"), names("y"))), tt.tensors...)
			path := filepath.Join(folder, "m.onnx")
			if err := os.WriteFile(path, encode(modelOf(17, g)), 0o644); err != nil {
				t.Fatal(err)
			}
			m, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			p, err := m.Graph(context.Background(), importer.Binding{})
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				got, err := execute(p, map[string]*tensor.Tensor{"x": mustFrom(t, []int{2}, []float32{1, 1})})
				if err != nil {
					t.Fatal(err)
				}
				if err := closeTo(got[0], mustFrom(t, []int{2}, []float32{3, 4})); err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func mustFrom[T tensor.Element](t *testing.T, shape []int, data []T) *tensor.Tensor {
	t.Helper()
	v, err := tensor.From(shape, data)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Many tensors that share their data are read once.
func TestSharedExternalData(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "w.bin"), make([]byte, 4<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	g := one(node("Relu", names("x"), names("y")))
	for i := range 2000 {
		with(g, externalTensor(fmt.Sprint("w", i), 1<<20, "location", "w.bin"))
	}
	path := filepath.Join(folder, "m.onnx")
	if err := os.WriteFile(path, encode(modelOf(17, g)), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := m.Graph(context.Background(), importer.Binding{}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 64 {
		t.Errorf("%d MiB were allocated for 4 MiB of weights", used)
	}
}

// FuzzExternal tries entries of external data.
func FuzzExternal(f *testing.F) {
	f.Add("w.bin", "8", "8", int64(2))
	f.Add("../w.bin", "-1", "", int64(0))
	f.Add("a/b\x00", "1", "18446744073709551615", int64(1<<40))
	folder := f.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "w.bin"), make([]byte, 64), 0o644); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, location, offset, length string, n int64) {
		files := &externalFiles{folder: folder}
		defer files.close()
		w := externalTensor("w", n, "location", location, "offset", offset, "length", length)
		if v, err := decode(w, files); err == nil && (location != "w.bin" || v.Len() > 16) {
			t.Errorf("%q, %q, %q gave %d elements", location, offset, length, v.Len())
		}
	})
}
