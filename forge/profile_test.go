package forge_test

import (
	"strings"
	"testing"

	"forgekernel/forge"
)

// TestProfile sees that each node that runs has a time, its work and, where the backend
// writes any, its source.
func TestProfile(t *testing.T) {
	for _, c := range []struct{ backend, source, refused string }{
		{"portable", "", ""}, {"cpu", "void ", ""}, {"auto", "", ""}, {"interp", "", "does not tell its nodes apart"},
	} {
		t.Run(c.backend, func(t *testing.T) {
			p, err := forge.Compile("def f(x: f32[32, 64], w: f32[64, 48]):\n    h = softmax(x @ w)\n    return h + layer_norm(h)\n", forge.OnBackend(c.backend), forge.OnThreads(1))
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.ProfileContext(t.Context())
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("error %v, want %q", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.Runs < 1 || len(r.Nodes) < 3 || r.Whole() <= 0 {
				t.Fatalf("%d runs of %d nodes in %v", r.Runs, len(r.Nodes), r.Whole())
			}
			product := r.Nodes[0]
			if product.FLOPs != 2*32*64*48 || product.Bytes != 4*(32*64+64*48+32*48) || product.Kernel == "" {
				t.Errorf("the product is %+v", product)
			}
			for _, n := range r.Nodes {
				if (n.Least > 0) != (n.By != "") {
					t.Errorf("%s: the least time is %v, by %q", n.Value, n.Least, n.By)
				}
			}
			t.Log("\n" + r.Table().Text())
			if svg, err := r.Roofline().SVG(); err != nil || !strings.Contains(svg, product.Op) {
				t.Errorf("the roofline does not show %s: %v", product.Op, err)
			}
			s, err := r.Source(product.Value)
			if c.backend == "portable" {
				if err == nil || !strings.Contains(err.Error(), "no source of their own") {
					t.Errorf("source of portable: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			text := s.Display().Data["text/plain"].(string)
			if !strings.Contains(text, c.source) || !strings.Contains(text, product.Value) {
				t.Errorf("the source with its time is\n%s", text)
			}
			if _, err := r.Source("%none"); err == nil {
				t.Error("a value that is not there has a source")
			}
		})
	}
}
