package forge

import (
	"errors"
	"math"
	"strings"
	"testing"
)

const naive = `def naive(x: f32[2,3]):
    e = exp(x)
    return e / e.sum(axis=-1, keepdims=True), sum(e)
`

func TestAudit(t *testing.T) {
	fns, err := Define(naive, Named("naive.fs"))
	if err != nil {
		t.Fatal(err)
	}
	f := fns[0]
	if r := f.Audit(); !r.OK() || len(r.Outputs) != 2 || len(r.Rows) != 4 {
		t.Errorf("ordinary inputs give\n%s", r.Text())
	}
	p, err := f.Compile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	large, err := p.ScaledInputs(1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	ordinary, err := p.RandomInputs(1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range large[0].Len() {
		if math.Abs(large[0].Elem(i)-1000*ordinary[0].Elem(i)) > 1e-3 {
			t.Fatalf("element %d is %v, of %v", i, large[0].Elem(i), ordinary[0].Elem(i))
		}
	}
	r := f.Audit(large...)
	if r.OK() || r.Rows[r.First].Value != "%e" || r.Rows[r.First].Source != "naive.fs:2:9" || r.Origin == nil {
		t.Errorf("large inputs give\n%s", r.Text())
	}
	var call *CallError
	if _, err := p.AuditContext(t.Context(), 1e-6, large[0], large[0]); !errors.As(err, &call) {
		t.Errorf("two inputs for one parameter give %v", err)
	}
	if _, err := p.AuditContext(t.Context(), -1, large...); err == nil || !strings.Contains(err.Error(), "budget") {
		t.Errorf("a negative budget gives %v", err)
	}
}
