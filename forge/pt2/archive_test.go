package pt2

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/importer"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// records are those of an archive, by name below its folder.
type records map[string]string

func readRecords(t testing.TB, name string) records {
	t.Helper()
	raw := unzipped(t, filepath.Join(fixtures, name+".pt2.gz"))
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	list := make(records)
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		_, below, _ := strings.Cut(f.Name, "/")
		list[below] = string(content)
	}
	return list
}

// zipped writes records into a folder, or without one.
func zipped(t testing.TB, list records, folder string, method uint16) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(list)) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: folder + name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, list[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const (
	modelJSON     = "models/model.json"
	weightsJSON   = "data/weights/model_weights_config.json"
	constantsJSON = "data/constants/model_constants_config.json"
)

// change replaces text of a record, which must be there.
func change(record, old, new string) func(t *testing.T, r records) {
	return func(t *testing.T, r records) {
		if !strings.Contains(r[record], old) {
			t.Fatalf("%s does not contain %s", record, old)
		}
		r[record] = strings.Replace(r[record], old, new, 1)
	}
}

func put(record, content string) func(*testing.T, records) {
	return func(_ *testing.T, r records) { r[record] = content }
}

func remove(names ...string) func(*testing.T, records) {
	return func(_ *testing.T, r records) {
		for _, name := range names {
			delete(r, name)
		}
	}
}

// Each malformed or unsupported archive gives one error, which says what is wrong.
func TestArchiveErrors(t *testing.T) {
	for _, c := range []struct {
		name, want string
		edit       func(*testing.T, records)
	}{
		{"format is missing", "does not name its format", remove("archive_format")},
		{"format is another", `format is "zip"`, put("archive_format", "zip")},
		{"TorchScript", "one of torch.save or TorchScript", func(t *testing.T, r records) { delete(r, "archive_format"); r["data.pkl"] = "x" }},
		{"version", `version "1"`, put("archive_version", "1")},
		{"byte order", `byte order is "big"`, put("byteorder", "big")},
		{"no model", "has no model", remove(modelJSON)},
		{"AOTInductor", "compiled by AOTInductor", func(t *testing.T, r records) { delete(r, modelJSON); r["data/aotinductor/model/x.so"] = "x" }},
		{"two models", "has 2 models, a, b", func(t *testing.T, r records) {
			r["models/a.json"], r["models/b.json"] = r[modelJSON], r[modelJSON]
			delete(r, modelJSON)
		}},
		{"pickled weights", "written by PyTorch 2.8", func(t *testing.T, r records) { delete(r, weightsJSON); r["data/weights/model.pt"] = "x" }},
		{"pickled constants", "written by PyTorch 2.8", func(t *testing.T, r records) { delete(r, constantsJSON); r["data/constants/model.pt"] = "x" }},
		{"schema", "version 9.20 of the schema", change(modelJSON, `"major": 8`, `"major": 9`)},
		{"no schema", "names no version", change(modelJSON, `"schema_version"`, `"schema"`)},
		{"JSON ends", "unexpected end of JSON", func(t *testing.T, r records) { r[modelJSON] = r[modelJSON][:1000] }},
		{"JSON is deep", "nested more than 128 deep", put(modelJSON, strings.Repeat("[", 1000))},
		{"union of two", "a union has 2 entries", change(modelJSON, `{"as_tensor": {"name": "x"}}`, `{"as_tensor": {"name": "x"}, "as_int": 1}`)},
		{"null node", "node 0 is null", change(modelJSON, `"nodes": [`, `"nodes": [null,`)},
		{"token", "is a token", change(modelJSON, `{"user_input": {"arg"`, `{"token": {"arg"`)},
		{"signature", "its signature", change(modelJSON, `"input_specs": [`, `"input_specs": [{"user_input": {"arg": {"as_int": 1}}},`)},
		{"mutation", "the program changes scale when it runs", change(modelJSON, `{"user_output": {"arg": {"as_tensor": {"name": "view"}}}}`, `{"buffer_mutation": {"arg": {"name": "view"}, "buffer_name": "scale"}}`)},
		{"training", "export a model that is not trained", change(modelJSON, `{"user_output": {"arg": {"as_tensor": {"name": "view"}}}}`, `{"loss_output": {"arg": {"name": "view"}}}`)},
		{"expression", `"@" is left over`, change(modelJSON, `Symbol('s77', positive=True, integer=True)`, `Symbol('s77') @ 2`)},

		{"record is missing", "there is no record data/weights/weight_0", remove("data/weights/weight_0")},
		{"pickled tensor", "is a pickled object", change(weightsJSON, `"use_pickle": false`, `"use_pickle": true`)},
		{"no metadata", "is a pickled object", change(weightsJSON, `"tensor_meta": {`, `"tensor_meta": null, "other": {`)},
		{"payload is null", `"up.weight" is null`, put(weightsJSON, `{"config": {"up.weight": null}}`)},
		{"layout", "layout 1 is not supported", change(weightsJSON, `"layout": 7`, `"layout": 1`)},
		{"complex", "complex64 are not supported", change(weightsJSON, `"dtype": 7`, `"dtype": 10`)},
		{"odd length", "no whole number of float32", func(t *testing.T, r records) { r["data/weights/weight_0"] += "x" }},
		{"short record", "reaches beyond the 31 elements", func(t *testing.T, r records) { r["data/weights/weight_0"] = r["data/weights/weight_0"][4:] }},
		{"offset", "reaches beyond the 32 elements", change(weightsJSON, `"storage_offset": {"as_int": 0}`, `"storage_offset": {"as_int": 1}`)},
		{"negative offset", "one is -1", change(weightsJSON, `"storage_offset": {"as_int": 0}`, `"storage_offset": {"as_int": -1}`)},
		{"huge offset", "must be numbers", change(weightsJSON, `"storage_offset": {"as_int": 0}`, `"storage_offset": {"as_int": 9223372036854775807}`)},
		{"huge stride", "reaches beyond", change(weightsJSON, `"strides": [{"as_int": 4}`, `"strides": [{"as_int": 4611686014132420609}`)},
		{"negative stride", "one is -4", change(weightsJSON, `"strides": [{"as_int": 4}`, `"strides": [{"as_int": -4}`)},
		{"huge size", "is no size", change(weightsJSON, `"sizes": [{"as_int": 8}`, `"sizes": [{"as_int": 4294967296}`)},
		{"symbolic size", "must be numbers", change(weightsJSON, `"sizes": [{"as_int": 8}`, `"sizes": [{"as_expr": {"expr_str": "s0"}}`)},
		{"strides", "2 sizes and 1 strides", change(weightsJSON, `"strides": [{"as_int": 4}, {"as_int": 1}]`, `"strides": [{"as_int": 4}]`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := readRecords(t, "mlp")
			c.edit(t, r)
			_, err := Read("mlp.pt2", zipped(t, r, "archive/", zip.Store))
			wantError(t, err, c.want)
		})
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v; want %q", err, want)
	}
}

// Containers that are no .pt2 file at all.
func TestContainerErrors(t *testing.T) {
	r := readRecords(t, "mlp")
	whole := zipped(t, r, "archive/", zip.Store)
	twice := bytes.ReplaceAll(whole, []byte("data/weights/weight_1"), []byte("data/weights/weight_0"))
	for _, c := range []struct {
		name, want string
		raw        []byte
	}{
		{"empty", "no zip archive", nil},
		{"text", "no zip archive", []byte("def f(x): return x")},
		{"cut", "no zip archive", whole[:len(whole)/2]},
		{"compressed", "it is compressed", zipped(t, r, "archive/", zip.Deflate)},
		{"without folder", "has no folder", zipped(t, records{"model": "x"}, "", zip.Store)},
		{"2.7", "PyTorch 2.7 or earlier", zipped(t, records{"serialized_exported_program.json": "{}", "version": "1"}, "", zip.Store)},
		{"two folders", "is not in the archive's folder", zipped(t, records{"a/x": "", "b/x": ""}, "", zip.Store)},
		{"twice", "occurs twice", twice},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read("x.pt2", c.raw)
			wantError(t, err, c.want)
		})
	}
}

// imported reads changed records and imports the program for three rows.
func imported(t *testing.T, name string, edit func(*testing.T, records), shapes map[string][]int) error {
	t.Helper()
	r := readRecords(t, name)
	edit(t, r)
	m, err := Read(name+".pt2", zipped(t, r, "archive/", zip.Store))
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Graph(context.Background(), importer.Binding{Shapes: shapes})
	return err
}

// Each program that cannot be imported gives one error, which names the node.
func TestImportErrors(t *testing.T) {
	rows := func(n ...int) map[string][]int { return map[string][]int{"x": n} }
	nothing := func(*testing.T, records) {}
	for _, c := range []struct {
		name, want string
		edit       func(*testing.T, records)
		shapes     map[string][]int
	}{
		{"range", "s77 is 65; the program was exported for at most 64", nothing, rows(65, 4)},
		{"fixed dimension", "dimension 1 is 4 in the file", nothing, rows(3, 5)},
		{"open", "is open", nothing, nil},
		{"shape", `gelu.default "gelu" (fixtures.py:`, change(modelJSON, `"gelu": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "Symbol('s77', positive=True, integer=True)", "hint": {"as_int": 3}}}, {"as_int": 8}]`, `"gelu": {"dtype": 7, "sizes": [{"as_int": 9}, {"as_int": 8}]`), rows(3, 4)},
		{"both shapes", `"gelu" is float32[9,8] in the file; the import gives f32[3,8]`, change(modelJSON, `"gelu": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "Symbol('s77', positive=True, integer=True)", "hint": {"as_int": 3}}}, {"as_int": 8}]`, `"gelu": {"dtype": 7, "sizes": [{"as_int": 9}, {"as_int": 8}]`), rows(3, 4)},
		{"type", `"gelu" is float64[3,8] in the file; the import gives f32[3,8]`, change(modelJSON, `"gelu": {"dtype": 7`, `"gelu": {"dtype": 8`), rows(3, 4)},
		{"no metadata", `does not say what tensor "gelu" is`, change(modelJSON, `"gelu": {"dtype"`, `"other": {"dtype"`), rows(3, 4)},
		{"undefined", `"nowhere" is defined by no earlier node`, change(modelJSON, `"name": "self", "arg": {"as_tensor": {"name": "linear"}}`, `"name": "self", "arg": {"as_tensor": {"name": "nowhere"}}`), rows(3, 4)},
		{"defined twice", `"x" is defined twice`, change(modelJSON, `"outputs": [{"as_tensor": {"name": "linear"}}]`, `"outputs": [{"as_tensor": {"name": "x"}}]`), rows(3, 4)},
		{"argument", "its argument strange is not known", change(modelJSON, `{"name": "self", "arg": {"as_tensor": {"name": "linear"}}, "kind": 1}`, `{"name": "self", "arg": {"as_tensor": {"name": "linear"}}}, {"name": "strange", "arg": {"as_float": 0.5}}`), rows(3, 4)},
		{"kind of argument", "of kind as_string, which does not fit", change(modelJSON, `"name": "chunks", "arg": {"as_int": 2}`, `"name": "chunks", "arg": {"as_string": "2"}`), rows(3, 4)},
		{"missing argument", "the argument chunks is missing", change(modelJSON, `"name": "chunks", "arg": {"as_int": 2}`, `"name": "other", "arg": {"as_none": true}`), rows(3, 4)},
		{"unknown weight", `no tensor for the parameter "up"`, change(modelJSON, `"parameter_name": "up.weight"`, `"parameter_name": "up"`), rows(3, 4)},
		{"results", "slices for 2 results", change(modelJSON, `"torch.ops.aten.chunk.default"`, `"torch.ops.aten.unbind.int"`), rows(3, 4)},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, imported(t, "mlp", c.edit, c.shapes), c.want) })
	}
}

// All nodes that are not supported stand in one message.
func TestUnsupported(t *testing.T) {
	err := imported(t, "mlp", func(t *testing.T, r records) {
		change(modelJSON, "torch.ops.aten.gelu.default", "torch.ops.aten.strange.default")(t, r)
		change(modelJSON, "torch.ops.aten.cat.default", "#mine:operator")(t, r)
	}, map[string][]int{"x": {3, 4}})
	for _, want := range []string{"2 nodes are not supported", `aten.strange.default "gelu" (fixtures.py:`, `#mine:operator "cat" (fixtures.py:`} {
		wantError(t, err, want)
	}
}

// A view of one element that fills a tensor must not ask for more memory than the
// file could.
func TestRepeatedElements(t *testing.T) {
	err := imported(t, "views", change(weightsJSON, `"sizes": [{"as_int": 3}, {"as_int": 4}]`, `"sizes": [{"as_int": 3}, {"as_int": 40000000}]`), map[string][]int{"x": {2, 7}, "y": {2, 14}})
	wantError(t, err, "larger than the file")
}

// Views of one record that all claim to begin at 0 are refused, unless each is all of
// it.
func TestAliases(t *testing.T) {
	r := readRecords(t, "views")
	change(weightsJSON, `"storage_offset": {"as_int": 7}`, `"storage_offset": {"as_int": 0}`)(t, r)
	_, err := Read("views.pt2", zipped(t, r, "archive/", zip.Store))
	wantError(t, err, "part are views of one storage")
	change(weightsJSON, `"sizes": [{"as_int": 2}, {"as_int": 3}]`, `"sizes": [{"as_int": 4}, {"as_int": 6}]`)(t, r)
	if _, err := Read("views.pt2", zipped(t, r, "archive/", zip.Store)); err != nil {
		t.Error(err)
	}
}

func FuzzArchive(f *testing.F) {
	for _, name := range []string{"mlp", "views"} {
		f.Add(unzipped(f, filepath.Join(fixtures, name+".pt2.gz")))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if m, err := Read("fuzz.pt2", raw); err == nil {
			anyBinding(t, m)
		}
	})
}

func FuzzProgram(f *testing.F) {
	r := readRecords(f, "mlp")
	for _, name := range []string{"mlp", "mlp.core"} {
		f.Add(readRecords(f, name)[modelJSON], r[weightsJSON])
	}
	f.Fuzz(func(t *testing.T, program, weights string) {
		list := maps.Clone(r)
		list[modelJSON], list[weightsJSON] = program, weights
		if m, err := Read("fuzz.pt2", zipped(t, list, "archive/", zip.Store)); err == nil {
			anyBinding(t, m)
		}
	})
}

// anyBinding imports a model for small shapes; it must not panic.
func anyBinding(t *testing.T, m *Model) {
	b := importer.Binding{Values: make(map[string]*tensor.Tensor)}
	for _, in := range m.Inputs() {
		shape := make([]int, len(in.Dims))
		for i, d := range in.Dims {
			if shape[i] = d.Size; !d.Fixed {
				shape[i] = 3
			}
		}
		if n, err := tensor.Elements(shape); err != nil || n > 1<<16 {
			return
		}
		v, err := tensor.Full(in.DType, 1, shape...)
		if err != nil {
			t.Fatal(err)
		}
		b.Values[in.Name] = v
	}
	p, err := m.Graph(context.Background(), b)
	if err != nil {
		return
	}
	if err := ir.Verify(p.Graph); err != nil {
		t.Error(err)
	}
}
