package display

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"
)

func TestDemoNotebook(t *testing.T) {
	dir := os.Getenv("DEMO")
	if dir == "" {
		t.Skip()
	}
	var cells []any
	add := func(name string, b Bundle) {
		data, meta := b.Wire()
		cells = append(cells, map[string]any{"cell_type": "code", "id": fmt.Sprint("c", len(cells)), "source": name, "metadata": map[string]any{}, "execution_count": nil,
			"outputs": []any{map[string]any{"output_type": "display_data", "data": data, "metadata": meta}}})
	}
	r := &recorder{}
	m := Progress(WithSink(context.Background(), r), "tune matmul", 120)
	m.mu.Lock()
	m.done, m.sent = 45, m.start.Add(3*time.Second)
	run := m.bundle()
	m.state, m.end = failed, m.sent
	m.err = fmt.Errorf("cc: exit status 1")
	bad := m.bundle()
	m.state, m.end = finished, m.sent
	m.done = 120
	good := m.bundle()
	m.mu.Unlock()
	d := &Diagnostic{Source: "mlp.fs", Line: 3, Col: 14, EndCol: 19, Text: "    h = relu(x @ w1 + b1)", Message: "shapes f32[8,16] and f32[12,32] do not multiply: 16 is not 12", Hint: "transpose w1, or pass a w1 of shape f32[16,32]", Notes: []string{"x: f32[8,16] comes from mlp.fs:1:9"}}
	add("diagnostic", d.Display())
	cells = append(cells, map[string]any{"cell_type": "code", "id": "err", "source": "error", "metadata": map[string]any{}, "execution_count": nil,
		"outputs": []any{map[string]any{"output_type": "error", "ename": "CompileError", "evalue": d.Error(), "traceback": d.Traceback()}}})
	add("table", benchTable().Display())
	add("progress running", run)
	add("progress failed", bad)
	add("progress done", good)
	add("source ir", Source{Lang: "ir", Name: "mlp", Highlight: []int{2}, Code: "graph mlp(%x: f32[8,16], %w: f32[16,4]) {\n  %h: f32[8,4] = matmul(%x, %w) @\"mlp.fs\":2:7\n  %y: f32[8,4] = pow(%h) {exponent=2.5, mode=\"fast\"} // note\n  return %y\n}\n"}.Display())
	code, _ := os.ReadFile("cells.go")
	add("source go", Source{Lang: "go", Name: "cells.go", Code: string(code)}.Display())
	add("source cuda", Source{Lang: "cuda", Name: "kernel", Code: "__global__ void k(float *__restrict__ x, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x; // index\n    if (i < n) x[i] = fmaxf(x[i], 0.0f);\n}"}.Display())
	add("mlp graph", mlpGraph().Display())
	g := attentionGraph(3)
	add("big graph", g.Display())
	odd := Graph{Name: "odd labels", Nodes: []Node{
		{ID: "a", Label: `1. list "q" #35; <b>x</b> & |`, Sub: "f32[8,16] `code` **b** _i_"},
		{ID: "b", Label: "style:x#y; %%{init}%% end", Sub: "$$x^2$$ - {a}"},
		{ID: "end", Label: "- item\\n", Sub: "é 幅 → ∑"},
	}, Edges: []Edge{{From: "a", To: "b", Label: `e "1" | <i>`}, {From: "b", To: "end"}, {From: "end", To: "a"}, {From: "b", To: "b", Label: "self"}}}
	add("odd graph", odd.Display())
	nb := map[string]any{"nbformat": 4, "nbformat_minor": 5, "metadata": map[string]any{"kernelspec": map[string]any{"name": "python3", "display_name": "Python 3", "language": "python"}}, "cells": cells}
	b, err := json.Marshal(nb)
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(dir+"/demo.ipynb", b, 0o644)
	png, _ := odd.PNG()
	os.WriteFile(dir+"/odd.png", png, 0o644)
}
