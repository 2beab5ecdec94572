package ir_test

import (
	"encoding/json"
	"strings"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

// TestJSONSchema fixes the JSON form: programs outside this repository read it.
func TestJSONSchema(t *testing.T) {
	g := parse(t, `graph f(%x: f32[2,2] @ "f.fs":1:7) {
  %0: f32[] = const {value = f32[] 0.5}
  %y: f32[2,2] = fused %x (%x: f32[]) {
    %1: f32[] = gelu %x {approximate = "tanh"}
    return %1
  } @ "f.fs":2:3
  %z: f32[2,1] = sum %y {axes = [1], keepdims = true}
  return %z, %0
}`)
	raw, err := json.MarshalIndent(g, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	var compact strings.Builder
	for _, line := range strings.Split(string(raw), "\n") {
		compact.WriteString(strings.TrimSpace(line))
	}
	want := `{"format": "forge.ir","version": 1,"name": "f",` +
		`"inputs": [{"name": "x","dtype": "f32","shape": [2,2],"pos": {"source": "f.fs","line": 1,"col": 7}}],` +
		`"nodes": [` +
		`{"op": "const","in": [],"out": [{"name": "0","dtype": "f32","shape": []}],"attrs": {"value": {"dtype": "f32","shape": [],"data": "AAAAPw=="}}},` +
		`{"op": "fused","in": ["x"],"out": [{"name": "y","dtype": "f32","shape": [2,2]}],` +
		`"body": {"name": "body","inputs": [{"name": "x","dtype": "f32","shape": []}],` +
		`"nodes": [{"op": "gelu","in": ["x"],"out": [{"name": "1","dtype": "f32","shape": []}],"attrs": {"approximate": "tanh"}}],"outputs": ["1"]},` +
		`"pos": [{"source": "f.fs","line": 2,"col": 3}]},` +
		`{"op": "sum","in": ["y"],"out": [{"name": "z","dtype": "f32","shape": [2,1]}],"attrs": {"axes": [1],"keepdims": true}}],` +
		`"outputs": ["z","0"]}`
	if compact.String() != want {
		t.Errorf("got\n%s\nwant\n%s", compact.String(), want)
	}
}

func TestJSONErrors(t *testing.T) {
	const x = `"inputs":[{"name":"x","dtype":"f32","shape":[2]}]`
	head := `{"format":"forge.ir","version":1,"name":"f",` + x + `,`
	node := func(n string) string { return head + `"nodes":[` + n + `],"outputs":["x"]}` }
	out := `"out":[{"name":"y","dtype":"f32","shape":[2]}]`
	for _, c := range []struct{ src, want string }{
		{`{`, "unexpected EOF"},
		{`{"format":"other","version":1}`, `format is "other", not "forge.ir"`},
		{`{"format":"forge.ir","version":2}`, "version 2; this program reads version 1"},
		{`{"format":"forge.ir","extra":2}`, "unknown field"},
		{head + `"nodes":[],"outputs":["x"]} 1`, "something follows the graph"},
		{head + `"nodes":[],"outputs":["z"]}`, "value z is not defined before its use"},
		{head + `"nodes":[],"outputs":[]}`, "no outputs"},
		{strings.Replace(head, `"f32"`, `"f99"`, 1) + `"nodes":[],"outputs":["x"]}`, `"f99" is not an element type`},
		{strings.Replace(head, `[2]`, `[-2]`, 1) + `"nodes":[],"outputs":["x"]}`, "negative dimension"},
		{node(`{"op":"nope","in":[],` + out + `}`), `node 0 (nope): there is no operator "nope"`},
		{node(`{"op":"exp","in":["w"],` + out + `}`), "node 0 (exp): value w is not defined before its use"},
		{node(`{"op":"exp","in":["x"],"out":[{"name":"x","dtype":"f32","shape":[2]}]}`), "value x is defined twice"},
		{node(`{"op":"exp","in":["x"],` + out + `,"attrs":{"a":1}}`), "attribute a: exp has no such attribute"},
		{node(`{"op":"softmax","in":["x"],` + out + `,"attrs":{"axis":1.5}}`), "attribute axis: json: cannot unmarshal"},
		{node(`{"op":"sum","in":["x"],` + out + `,"attrs":{"axes":null}}`), "null is not a list"},
		{node(`{"op":"exp","in":["x"],` + out + `,"pos":[{"source":"s","line":0,"col":1}]}`), "impossible source position"},
		{node(`{"op":"const","in":[],` + out + `,"attrs":{"value":{"dtype":"f32","shape":[2000000000],"data":"AAAA"}}}`), "f32[2000000000] needs 8000000000 bytes, got 3"},
		{node(`{"op":"fused","in":["x"],` + out + `}`), "a node has a body exactly when it is fused"},
		{node(`{"op":"fused","in":["x"],` + out + `,"body":{"name":"body","inputs":[],"nodes":[{"op":"fused","in":[],"out":[],"body":{"name":"body","inputs":[],"nodes":[],"outputs":[]}}],"outputs":[]}}`), "a body cannot hold a fused node"},
	} {
		if _, err := ir.ParseJSON(op.Registry, []byte(c.src)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got error %v, want %s, for\n%s", err, c.want, c.src)
		}
	}
}

// An outline is the program without its constants.
func TestParseOutline(t *testing.T) {
	g := parse(t, samples[len(samples)-1])
	raw, err := g.Outline()
	if err != nil {
		t.Fatal(err)
	}
	back, err := ir.ParseOutline(op.Registry, raw)
	if err != nil {
		t.Fatal(err)
	}
	again, err := back.Outline()
	if err != nil || string(again) != string(raw) {
		t.Errorf("%v, the outline of an outline is\n%s\nnot\n%s", err, again, raw)
	}
	large := strings.Replace(`{"format":"forge.ir","version":1,"name":"f","inputs":[],"nodes":[NODE],"outputs":["c"]}`, "NODE",
		`{"op":"const","in":[],"out":[{"name":"c","dtype":"f32","shape":[2147483648]}],"attrs":{"value":{"dtype":"f32","shape":[2147483648]}}}`, 1)
	if _, err := ir.ParseOutline(op.Registry, []byte(large)); err == nil || !strings.Contains(err.Error(), "bytes of constants") {
		t.Errorf("an outline with 8 GiB of constants: %v", err)
	}
}
