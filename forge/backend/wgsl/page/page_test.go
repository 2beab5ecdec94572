package page

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/backend/wgsl"
	"forgekernel/forge/backend/wgsl/webgpu"
	"forgekernel/forge/tensor"
)

// example is a card of the plan of package wgsl that was written by hand: t = x +
// table[index], of 4 rows of 100, and y the sum of each row.
func example(t *testing.T) *Card {
	t.Helper()
	data, err := os.ReadFile("../testdata/example.json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := wgsl.ReadPlan(data)
	if err != nil {
		t.Fatal(err)
	}
	m := p.NewMemory()
	want := make([]float32, 4)
	for i := range 400 {
		binary.LittleEndian.PutUint32(m[0][4*i:], math.Float32bits(float32(i)/4))
		want[i/100] += float32(i) / 4
	}
	y, err := tensor.From([]int{4}, want)
	if err != nil {
		t.Fatal(err)
	}
	r := Result{Name: "y", Buffer: 4, Tensor: y, Bytes: make([]byte, 16)}
	for i, v := range want {
		binary.LittleEndian.PutUint32(r.Bytes[4*i:], math.Float32bits(v))
	}
	return &Card{Plan: p, Memory: m, Results: []Result{r}}
}

// TestStatic: what a card has without its script, as HTML and as text.
func TestStatic(t *testing.T) {
	b := example(t).Display()
	markup, text := b.Data["text/html"].(string), b.Data["text/plain"].(string)
	for _, want := range []string{"example", "values of the kernel", "1238, 3738, 6238, 8738", "f32[4]", "not run", "Dispatches: 2, of 2 shaders; 5.13 KiB in 6 buffers", "%y", "sum_rows", "a workgroup for each of 4 rows"} {
		for form, in := range map[string]string{"HTML": markup, "text": text} {
			if !strings.Contains(in, want) {
				t.Errorf("the %s has no %q:\n%s", form, want, in)
			}
		}
	}
	if !strings.Contains(markup, "not trusted") || strings.Contains(text, "<") {
		t.Errorf("the forms are\n%s\n%s", markup, text)
	}
	for _, bad := range []string{"fetch(", "import(", "XMLHttpRequest", "eval(", "new Function", "innerHTML", "src=", "href=", "window.", "globalThis"} {
		if strings.Contains(markup, bad) {
			t.Errorf("the card uses %q", bad)
		}
	}
	if regexp.MustCompile(`(?m)^\s*//`).MatchString(markup) {
		t.Error("the card has comments")
	}
	if again := markupOf(example(t)); again != markup {
		t.Error("equal cards differ")
	}
}

func markupOf(c *Card) string { return c.Display().Data["text/html"].(string) }

// TestEscape: no name ends a tag or the script.
func TestEscape(t *testing.T) {
	c := example(t)
	const bad = `</script><b>"&`
	c.Plan.Name, c.Results[0].Name = bad, bad
	c.Plan.Modules[0].Name, c.Plan.Dispatches[0].Node, c.Plan.Dispatches[0].Reason = bad, bad, bad
	markup := markupOf(c)
	if n := strings.Count(markup, "</script>"); n != 1 {
		t.Errorf("%d scripts end", n)
	}
	if strings.Contains(markup, `<b>"`) {
		t.Error("a name is a tag")
	}
}

// TestData: the script has what it was given, in parts.
func TestData(t *testing.T) {
	c := example(t)
	c.Plan.Buffers[0].Bytes = 2*partBytes + 4
	c.Memory[0] = make([]byte, 2*partBytes+4)
	for i := range c.Memory[0] {
		c.Memory[0][i] = byte(i * i >> 7)
	}
	var d struct {
		Fill []filled
		Want []wanted
	}
	if err := json.Unmarshal(c.data(), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Fill) != 3 || len(d.Fill[0].Parts) != 3 || d.Fill[2].Buffer != 2 {
		t.Fatalf("it fills %d buffers, the first from %d parts", len(d.Fill), len(d.Fill[0].Parts))
	}
	var got []byte
	for _, part := range d.Fill[0].Parts {
		b, err := base64.StdEncoding.DecodeString(part)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, b...)
	}
	if !slices.Equal(got, c.Memory[0]) {
		t.Error("the bytes are not those of the buffer")
	}
	if w := d.Want[0]; w.Buffer != 4 || w.Count != 4 || w.Tolerance != 1e-4 {
		t.Errorf("it wants %+v", w)
	}
}

// TestNothing: a program that reads and gives nothing has lists without entries.
func TestNothing(t *testing.T) {
	c := &Card{Plan: &wgsl.Plan{Name: "nothing"}}
	if got, want := string(c.data()), `"fill":[],"want":[]}`; !strings.HasSuffix(got, want) {
		t.Errorf("the data is %s, want %s at its end", got, want)
	}
	for _, list := range []string{"features", "modules", "buffers", "dispatches"} {
		if want := `"` + list + `":[]`; !strings.Contains(string(c.data()), want) {
			t.Errorf("the data is %s, want %s in it", c.data(), want)
		}
	}
}

// TestCheck: what is too large for a notebook is refused, and what just fits is not.
func TestCheck(t *testing.T) {
	buffers := []wgsl.Buffer{{Kind: wgsl.Constant}, {Kind: wgsl.Input}, {Kind: wgsl.Output}}
	c := &Card{
		Plan:   &wgsl.Plan{Name: "large", Buffers: buffers},
		Memory: wgsl.Memory{nil, make([]byte, MaxBytes-16), make([]byte, MaxBytes)}, Results: []Result{{Bytes: make([]byte, 16)}},
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	c.Memory[0] = make([]byte, 4)
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), "large has 33554436 bytes of inputs, constants and results; a card holds 33554432, ") {
		t.Errorf("one more word: %v", err)
	}
}

// TestScript runs what the script computes in Node: numbers of each form, and the
// differences between them.
func TestScript(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip(err)
	}
	const checks = `
const bytes = (type, ...list) => new Uint8Array(type.from(list).buffer);
const report = {
  halves: [0x3c00, 0xc000, 0x7bff, 0x0001, 0x0400, 0x7c00, 0xfc00, 0x8000].map(half).map(String),
  odd: String(half(0x7e00)),
  f32: difference("f32", 3, bytes(Float32Array, 1, 2.5, -4), bytes(Float32Array, 1, 2, -4)),
  padding: difference("f32", 1, bytes(Float32Array, 1, 9), bytes(Float32Array, 1, 2)),
  same: difference("f32", 3, bytes(Float32Array, NaN, Infinity, 0), bytes(Float32Array, NaN, Infinity, -0)),
  infinite: difference("f32", 3, bytes(Float32Array, NaN, Infinity, 3), bytes(Float32Array, 1, -Infinity, NaN)),
  f16: difference("f16", 2, bytes(Uint16Array, 0x3c00, 0x4000), bytes(Uint16Array, 0x3c00, 0x4400)),
  i64: difference("i64", 1, bytes(BigInt64Array, -3n), bytes(BigInt64Array, 1n << 40n)),
  near: difference("i64", 3, bytes(BigInt64Array, 2n ** 53n + 1n, -(2n ** 63n), -1n), bytes(BigInt64Array, 2n ** 53n, -(2n ** 63n), -1n)),
  far: difference("i64", 1, bytes(BigInt64Array, 2n ** 63n - 1n), bytes(BigInt64Array, -(2n ** 63n))),
  bool: difference("bool", 2, bytes(Int32Array, 1, 0), bytes(Int32Array, 1, 1)),
  zero: difference("i32", 1, bytes(Int32Array, 2), bytes(Int32Array, 0)),
  decoded: [...bytesOf(["AQID", "BAU="], 5)],
  middle: median([5, 1, 3]), times: [ms(0.1234), ms(12.345), ms(1234.6)], counts: [many(1, "run"), many(2, "run")],
};
process.stdout.write(JSON.stringify(report));
`
	out, err := exec.Command("node", "--input-type=module", "--eval", webgpu.Runner+script+checks).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	type diff struct{ Abs, Rel, Odd float64 }
	var got struct {
		Halves                                                        []string
		Odd                                                           string
		F32, Padding, Same, Infinite, F16, I64, Near, Far, Bool, Zero diff
		Decoded                                                       []int
		Middle                                                        float64
		Times, Counts                                                 []string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"halves", strings.Join(got.Halves, " "), "1 -2 65504 5.960464477539063e-8 0.00006103515625 Infinity -Infinity 0"},
		{"a half that is no number", got.Odd, "NaN"},
		{"f32", got.F32, diff{0.5, 0.125, 0}},
		{"padding", got.Padding, diff{}},
		{"same", got.Same, diff{}},
		{"infinite", got.Infinite, diff{0, 0, 3}},
		{"f16", got.F16, diff{2, 0.5, 0}},
		{"i64", got.I64, diff{1<<40 + 3, 1 + 3./(1<<40), 0}},
		{"neighbours that are one number of 64 bits", got.Near, diff{1, 0x1p-63, 0}},
		{"i64 from end to end", got.Far, diff{0x1p64, 2, 0}},
		{"bool", got.Bool, diff{1, 1, 0}},
		{"zero", got.Zero, diff{2, 2, 0}},
		{"decoded", len(got.Decoded) == 5 && got.Decoded[4] == 5, true},
		{"middle", got.Middle, 3.},
		{"times", strings.Join(got.Times, ", "), "0.12 ms, 12.3 ms, 1235 ms"},
		{"counts", strings.Join(got.Counts, ", "), "1 run, 2 runs"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

// scriptOf is the script of a card.
var scriptOf = regexp.MustCompile(`(?s)<script>(.*)</script>`)

// TestSyntax: Node takes the script of a card as a script, with all that it declares in
// a scope of its own.
func TestSyntax(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip(err)
	}
	text := scriptOf.FindStringSubmatch(markupOf(example(t)))[1]
	check := exec.Command("node", "--input-type=commonjs", "--eval", `
const before = Object.keys(globalThis).length;
let asked;
globalThis.document = { currentScript: null, querySelectorAll: (s) => ((asked = s), []) };
require("vm").runInThisContext(require("fs").readFileSync(0, "utf8"));
process.stdout.write(asked + " " + (Object.keys(globalThis).length - before));
`)
	check.Stdin = strings.NewReader(text)
	out, err := check.CombinedOutput()
	if want := regexp.MustCompile(`^\[data-forge-webgpu="[0-9a-f]{16}"\] 1$`); err != nil || !want.Match(out) {
		t.Errorf("%v: %s", err, out)
	}
}
