package ir_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/pass"
)

func TestTextRoundTrip(t *testing.T) {
	for _, src := range samples {
		g := parse(t, src)
		if got := g.String(); got != src {
			t.Errorf("got\n%s\nwant\n%s", got, src)
		}
		if !ir.Equal(g, g.Clone()) {
			t.Errorf("a clone differs from\n%s", src)
		}
		if h := parse(t, g.String()); !ir.Equal(g, h) || g.Hash() != h.Hash() {
			t.Errorf("a graph changes when it is printed and parsed:\n%s", src)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"", `ir:1:1: expected "graph", found the end`},
		{"graph 1() {", `ir:1:7: expected a graph name, found "1"`},
		{"graph f(%x: f31[2]) {", `ir:1:13: f31 is not an element type`},
		{"graph f(%x: f32[2,-1]) {", `ir:1:13: shape [2,-1] has the negative dimension -1 at index 1`},
		{"graph f(%x: f32[99999,99999]) {", `ir:1:13: shape [99999,99999] has more than 2147483648 elements, the limit for one tensor`},
		{"graph f(%x: f32[1,1,1,1,1,1,1,1,1]) {", `rank 9; the limit is 8`},
		{"graph f(%x: f32[2], %x: f32[2]) {", `ir:1:21: %x is defined twice`},
		{"graph f(%x: f32) {", `ir:1:16: expected [ of a shape, found ")"`},
		{"graph f(%x: f32[2]) {\n  %y: f32[2] = exq %x\n  return %y\n}", `ir:2:16: there is no operator "exq"`},
		{"graph f(%x: f32[2]) {\n  %y: f32[2] = soft %x\n  return %y\n}", `there is no operator "soft"; similar: log_softmax, softmax`},
		{"graph f(%x: f32[2]) {\n  %y: f32[2] = exp %z\n  return %y\n}", `ir:2:20: %z is not defined before this use`},
		{"graph f(%x: f32[2]) {\n  %y: f32[2] = exp %y\n  return %y\n}", `ir:2:20: %y is not defined before this use`},
		{"graph f(%x: f32[2]) {\n  %y: f32[3] = exp %x\n  return %y\n}", `ir:2:3: %y is declared f32[3], but exp(%x: f32[2]) gives f32[2]`},
		{"graph f(%x: f32[2]) {\n  %y: f32[2] = exp %x, %x\n  return %y\n}", `ir:2:3: exp(%x: f32[2], %x: f32[2]): takes 1 operands, got 2`},
		{"graph f(%x: f32[2]) {\n  %y: f32[2] = exp %x {fast = true}\n  return %y\n}", `unknown attribute "fast"; it has none`},
		{"graph f(%x: f32[2]) {\n  %y: f32[] = sum %x {axis = 0}\n  return %y\n}", `unknown attribute "axis"; it has axes, keepdims`},
		{"graph f(%x: f32[2]) {\n  %y: f32[] = sum %x {axes = 0}\n  return %y\n}", `attribute axes must be of kind ints, not int64`},
		{"graph f(%x: f32[2]) {\n  %y: f32[2] = gelu %x {approximate = \"fast\"}\n  return %y\n}", `attribute approximate is "fast"; it must be one of ["none" "tanh"]`},
		{"graph f(%x: f32[2]) {\n  %y: f32[2] = reshape %x\n  return %y\n}", `attribute shape is missing`},
		{"graph f(%x: f32[2]) {\n  %y: f32[] = sum %x {axes = [0], axes = [0]}\n", `ir:2:35: attribute axes is given twice`},
		{"graph f() {\n  %y: f32[2] = const {value = f32[2] 1.0}\n  return %y\n}", `ir:2:31: f32[2] has 2 elements, found 1`},
		{"graph f() {\n  %y: f32[1] = const {value = f32[1] x}\n  return %y\n}", `"x" is not a value of type f32`},
		{"graph f() {\n  %y: f32[1] = const {value = f32[1] @3}\n  return %y\n}", `there is no data @3`},
		{"graph f() {\n  %y: f32[1] = const {value = f32[1] @3}\n  return %y\n}\ndata @3 = \"AAA=\"", `f32[1] needs 4 bytes, got 2`},
		{"graph f() {\n  %y: f32[1] = const {value = f32[1] @3}\n  return %y\n}\ndata @3 = \"?\"", `illegal base64 data`},
		{"graph f() {\n  return %y\n}", `%y is not defined before this use`},
		{"graph f(%x: f32[2]) {\n  return %x\n} graph", `ir:3:3: expected "data", found "graph"`},
		{"graph f(%x: f32[2]) {\n  %y: f32[2] = fused %x (%a: f32[]) {\n %b: f32[] = fused %a (%c: f32[]) {", `a body cannot hold a fused node`},
		{"graph f(%x: f32[2]) {\n  %y: f32[2] = fused %x (%a: f32[2]) {\n return %a } return %y }", `body value %a is f32[2], not a scalar`},
		{"graph f(%x: f32[2]) {\n  %y: f32[2] = fused %x (%a: f32[]) {\n %b: f32[] = sum %a\n return %b } return %y }", `body node sum is neither elementwise nor a constant`},
		{"graph f(%x: f32[2]) {\n  %y: f32[2] = fused %x () {\n %b: f32[] = const {value = f32[] 1.0}\n return %b } return %y }", `the body has 0 inputs for 1 operands`},
		{"graph f(%x: f32[2] on 3) {", `ir:1:23: expected a device, found "3"`},
		{"graph f(%x: f32[2] on CUDA) {", `"CUDA" is not the name of a device; write a kind and a number, such as cuda:0`},
		{"graph f(%x: f32[2] on cuda:0, %y: f32[2]) {\n %z: f32[2] = add %x, %y\n return %z }", `operands %x and %y are on different devices, cuda:0 and cpu`},
		{"graph f(%x: f32[2] @ \"s\":0:1) {", `not an integer of the needed range`},
		{"graph f(%x: f32[2] @ \"s\n", `unterminated or malformed string`},
		{"graph f(%x: f32[2]) { $", `ir:1:23: unexpected character '$'`},
		{"graph f(% : f32[2]) {", `ir:1:9: % must be followed by a value name`},
		{"graph f(%1x: f32[2]) {\n return %1x\n}", `value name "1x" is neither an identifier nor a number`},
	} {
		_, err := ir.Parse(op.Registry, c.src)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got error %v, want %s, for\n%s", err, c.want, c.src)
		}
	}
}

func TestSyntaxErrorIsDiagnostic(t *testing.T) {
	_, err := ir.Parse(op.Registry, "graph f(%größe: f32[2], %y f32[2]) {")
	var syntax *ir.SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatalf("got %v", err)
	}
	if d := syntax.Diagnostic; d.Line != 1 || d.Col != 28 || d.Text != "graph f(%größe: f32[2], %y f32[2]) {" {
		t.Errorf("unexpected diagnostic %+v", d)
	}
}

func FuzzParse(f *testing.F) {
	for _, src := range samples {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		g, err := ir.Parse(op.Registry, src)
		if err != nil {
			return
		}
		text := g.String()
		h, err := ir.Parse(op.Registry, text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if !ir.Equal(g, h) || h.String() != text {
			t.Fatalf("printing and parsing changed\n%s", text)
		}
		raw, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		if h, err := ir.ParseJSON(op.Registry, raw); err != nil || !ir.Equal(g, h) {
			t.Fatalf("JSON changed the graph (%v):\n%s", err, text)
		}
		if r, err := pass.Run(g, pass.Options{}); err != nil {
			t.Fatalf("passes: %v in\n%s", err, text)
		} else if !ir.Equal(g, h) {
			t.Fatalf("the passes changed their input; result\n%s", r.Graph)
		}
	})
}
