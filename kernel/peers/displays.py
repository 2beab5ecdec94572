"""A notebook of everything that can be shown, with outputs that never change."""

import nbformat

# Name and code of each cell.
CELLS = [
    ("graph", '''%%forge --show graph
def layer(x: f32[64,128], w: f32[128,64], b: f32[64]) -> f32[64,64]:
    h = gelu(x @ w + b)
    return softmax(h, axis=-1) * 2.0 + h'''),
    ("plan", '''%%forge --show plan
def block(x: f32[64,256], w: f32[256,256], v: f32[256,64]) -> f32[64,64]:
    h = gelu(x @ w)
    g = (h + x) @ w
    return softmax((g - h) @ v, axis=-1)'''),
    ("diff", '''%%go
func normalised() display.Graph {
    f := must(forge.Define("def norm(x: f32[16,128], s: f32[128], t: f32[128]) -> f32[16,128]:\\n    c = x - mean(x, axis=-1, keepdims=True)\\n    return c / sqrt(mean(c * c, axis=-1, keepdims=True) + 1e-5) * s + t\\n"))
    return must(f[0].Compile(forge.Context())).Snapshots().GraphDiff("trace", "recognise-norms")
}
func must[T any](v T, err error) T { if err != nil { panic(err) }; return v }
normalised()'''),
    ("folded", '''func stack(layers int) display.Graph {
    g := display.Graph{Name: fmt.Sprintf("%d layers", layers), Nodes: []display.Node{{ID: "x", Sub: "f32[8,64]", Class: display.ClassInput}}}
    last := "x"
    for l := range layers {
        for i, op := range []string{"norm", "matmul", "gelu", "matmul", "add"} {
            id := fmt.Sprint(op, l, i)
            class := []display.Class{display.ClassReduction, display.ClassContraction, display.ClassElementwise, display.ClassContraction, display.ClassElementwise}[i]
            g.Nodes = append(g.Nodes, display.Node{ID: id, Label: op, Sub: "f32[8,64]", Class: class})
            g.Edges = append(g.Edges, display.Edge{From: last, To: id})
            last = id
        }
    }
    return g
}
stack(24)'''),
    ("distribution", '''func runs(median float64) []float64 {
    list := make([]float64, 200)
    for i := range list {
        u := (float64(i*37%200) + 0.5) / 200
        list[i] = median * (1 + 0.03*math.Log(u/(1-u)) + 0.2*u*u*u*u)
    }
    return list
}
chart.Distribution("Time of a layer", "time per run", chart.Seconds, chart.Sample{"compiled", runs(20e-6)}, chart.Sample{"as written", runs(29e-6)}, chart.Sample{"interpreted", runs(44e-6)})'''),
    ("violin", '''chart.Violin("Time of a layer", "time per run", chart.Seconds, chart.Sample{"compiled", runs(20e-6)}, chart.Sample{"as written", runs(29e-6)})'''),
    ("roofline", '''chart.Roofline("Kernels under the roof of one core", []chart.Roof{{Name: "one core", FLOPs: 52e9, Bytes: 11e9, Caches: []chart.Cache{{"L2", 1 << 20, 70e9}}}}, []chart.Work{
    {Name: "matmul 512", Series: "cpu", FLOPs: 268e6, Bytes: 3.1e6, Seconds: 6.1e-3}, {Name: "softmax", Series: "cpu", FLOPs: 5e6, Bytes: 4e6, Seconds: 0.7e-3},
    {Name: "add_relu", Series: "cpu", FLOPs: 1e6, Bytes: 8e6, Seconds: 0.9e-3}, {Name: "matmul 512", Series: "interp", FLOPs: 268e6, Bytes: 3.1e6, Seconds: 110e-3}})'''),
    ("scaling", '''chart.Scaling("Requests by threads", "threads", "requests per second", chart.Number,
    chart.Curve{"compiled", []chart.Measured{{1, 120}, {2, 231}, {4, 402}, {8, 610}}}, chart.Curve{"interpreted", []chart.Measured{{1, 20}, {2, 39}, {4, 77}, {8, 150}}})'''),
    ("timeline", '''func ranks() (spans []chart.Span) {
    spans = append(spans, chart.Span{Lane: 1, Row: 1, End: 2.0004, Name: "recv", Class: display.ClassInput, Wait: true})
    for i := range 10 {
        at := 2 + 1e-3*float64(i)
        spans = append(spans,
            chart.Span{Lane: 0, Start: at, End: at + 9e-4, Name: "step", Class: display.ClassFused, Label: fmt.Sprint(i)},
            chart.Span{Lane: 0, Row: 1, Start: at, End: at + 3e-4, Name: "attention", Class: display.ClassContraction},
            chart.Span{Lane: 1, Start: at + 4e-4, End: at + 9e-4, Name: "step", Class: display.ClassFused, Label: fmt.Sprint(i)},
            chart.Span{Lane: 1, Row: 1, Start: at + 4e-4, End: at + 8e-4, Name: "feed-forward", Class: display.ClassReduction})
    }
    return spans
}
chart.Timeline("What the ranks did", []string{"rank 0", "rank 1"}, ranks())'''),
    ("contest", '''chart.Contest("Candidates of a layer", "", chart.Match{"matmul 8x192x64", []chart.Candidate{
    {"unroll 4, packed", "picked", runs(11e-6)[:60], chart.Good}, {"unroll 2, packed", "+1.1 %", runs(11.2e-6)[:60], chart.Close},
    {"unroll 1", "+38 %, default", runs(15.2e-6)[:60], chart.Plain}, {"unroll 8", "rejected: error 3e-2", nil, chart.Bad}}})'''),
    ("source", '''display.Show(
    display.Source{Lang: "c", Name: "add.c", Code: "/* y = a + b */\\nvoid add(const float *a, const float *b, float *y, int n) {\\n  for (int i = 0; i < n; i++) y[i] = a[i] + b[i];\\n}\\n",
        Links: []display.Link{{First: 2, Last: 4, Label: "%y", Class: display.ClassElementwise, Tip: "%y: f32[64] = add %a, %b"}}},
    display.Source{Lang: "cuda", Code: "__global__ void add(const float *a, float *y) {\\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\\n  y[i] += a[i];\\n}\\n"},
    display.Source{Lang: "wgsl", Code: "@compute @workgroup_size(64)\\nfn add(@builtin(global_invocation_id) id: vec3u) {\\n  y[id.x] = a[id.x] + 1.0;\\n}\\n"},
    display.Source{Lang: "triton", Code: "@triton.jit\\ndef add(a, y, n: tl.constexpr):\\n    i = tl.program_id(0) * n + tl.arange(0, n)\\n    tl.store(y + i, tl.load(a + i))\\n"},
    display.Source{Lang: "ir", Code: "graph add(%a: f32[64], %b: f32[64]) {  # add.fs:1\\n  %y: f32[64] = add %a, %b\\n  return %y\\n}\\n"},
    display.Source{Lang: "forgescript", Code: "def add(a: f32[64], b: f32[64]):\\n    return a + b  # elementwise\\n"})'''),
    ("table", '''display.Table{Title: "Kernels", Columns: []display.Column{{Name: "kernel"}, {Name: "time", Unit: "µs"}, {Name: "rate", Unit: "GFLOP/s"}, {Name: "of the roof", Align: display.AlignRight}},
    Rows: [][]any{{"matmul_0", 6.1, 43.9, "84 %"}, {"softmax_1", 0.72, 7.1, "52 %"}, {"add_relu_2 & $1_{2}$", 12.25, 1.1, nil}}}'''),
    ("error", '''%%forge
def wrong(x: f32[2,3], y: f32[4,5]):
    return x @ y'''),
]


def notebook():
    """The notebook, without outputs."""
    nb = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "forge", "display_name": "Forge", "language": "go"}})
    nb.cells = [nbformat.v4.new_code_cell(code, id=name) for name, code in CELLS]
    return nb
