package code

import "testing"

func TestWriter(t *testing.T) {
	var w Writer
	w.Open("for (;;)")
	w.Open("")
	w.Line("%s = %s %% 2;", w.Temp(), w.Temp())
	w.Close()
	w.Close()
	if got, want := w.String(), "for (;;) {\n  {\n    t0 = t1 % 2;\n  }\n}\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	p := Writer{Indent: "    "}
	p.Depth++
	p.Line("x")
	if got := p.String(); got != "    x\n" {
		t.Errorf("got %q", got)
	}
}
