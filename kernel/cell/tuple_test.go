package cell

import (
	"strings"
	"testing"
)

// A ForgeScript function that returns a tuple is called with All in a Go cell,
// and its explanation is shown as a page.
func TestTuple(t *testing.T) {
	n := newNotebook(t)
	n.ok(t, "def moments(x):\n    m = mean(x)\n    d = x - m\n    return m, mean(d * d)\n")
	_, result := n.ok(t, "ms := moments.All(forge.From([]float64{1, 2, 3, 6}))\nms")
	if result != "f32[] 3.\nf32[] 3.5" {
		t.Errorf("moments.All shows %q", result)
	}
	if _, result := n.ok(t, "ms[0].Item() + ms[1].Item()"); result != "6.5" {
		t.Errorf("the sum of both is %s", result)
	}
	_, _, failure := n.run(t, "moments(forge.Ones(4))")
	if failure == nil || !strings.Contains(strings.Join(failure.Traceback, "\n"), "call moments.All(…)") {
		t.Errorf("a plain call: %+v", failure)
	}
	_, _, failure = n.run(t, "def wrong(x):\n    return relu(moments(x))\n")
	if failure == nil || !strings.Contains(strings.Join(failure.Traceback, "\n"), "moments returns 2 tensors where one is needed") {
		t.Errorf("a wrong use: %+v", failure)
	}
	n.ok(t, "def spread(x):\n    m, v = moments(x)\n    return (x - m) / sqrt(v)\n")
	if _, result := n.ok(t, "spread(forge.From([]float64{1, 3})).At(1)"); result != "1" {
		t.Errorf("spread is %s", result)
	}
	_, out, failure := n.run(t, "spread.Explain()")
	if failure != nil || out.Result == nil {
		t.Fatalf("Explain: %+v", failure)
	}
	page, _ := out.Result.Data["text/html"].(string)
	text, _ := out.Result.Data["text/plain"].(string)
	if !strings.Contains(page, `class="forge-explain `) || !strings.Contains(page, "def moments(x)") || !strings.Contains(text, "Optimisation") {
		t.Errorf("the explanation lacks its page, its source or its text:\n%.300s\n%.300s", page, text)
	}
}
