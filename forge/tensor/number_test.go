package tensor

import (
	"encoding/json"
	"math"
	"testing"
)

func TestNumber(t *testing.T) {
	inf := math.Inf(1)
	list := []Number{0.1, Number(float32(0.1)), 1, -1e-9, 1e300, 16777217, Number(math.NaN()), Number(inf), Number(-inf)}
	const want = `[0.1,0.1,1,-1e-09,1e+300,1.6777217e+07,"NaN","Infinity","-Infinity"]`
	if got, err := json.Marshal(list); err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	if s := Number(1.0 / 3).String(); s != "0.333" {
		t.Errorf("a third is %s", s)
	}
}
