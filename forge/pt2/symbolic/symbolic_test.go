package symbolic

import (
	"strings"
	"testing"
)

func TestInt(t *testing.T) {
	values := map[string]int64{"s0": 7, "s1": -3, "u0": 2}
	for _, c := range []struct {
		text string
		want int64
	}{
		{"Symbol('s0', positive=True, integer=True)", 7},
		{"Add(Symbol('s0', positive=True, integer=True), Mul(Integer(-1), FloorDiv(Symbol('s0', positive=True, integer=True), Integer(2))))", 4},
		{"s0*4", 28}, {"s0//2", 3}, {"s1//2", -2}, {"s1 % 5", 2}, {"-s0**2", -49}, {"2**3**2", 512}, {"(s0 + 1) / 2", 4},
		{"Max(1, s0, u0)", 7}, {"torch.sym_max(1, s1)", 1}, {"Min(s0, s1)", -3}, {"Mod(s0, 4)", 3}, {"CeilDiv(s0, 2)", 4},
		{"Pow(Symbol('u0'), Integer(3))", 8}, {"Mul(Rational(1, 2), Mul(Integer(2), Symbol('s0')))", 7},
		{"TruncToInt(Mul(Float('1.5', precision=53), ToFloat(Symbol('s0'))))", 10}, {"TruncToInt(s1 / 2)", -1}, {"RoundToInt(5 / 2)", 2}, {"RoundToInt(s1 / 2)", -2}, {"ceiling(s0 / 2)", 4},
		{"ModularIndexing(s0, 2, 2)", 1}, {"s0 >= 7", 1}, {"Where(s0 < 7, 1, 2)", 2}, {"7 - 2 - 1", 4}, {"1.5e1 * 2", 30}, {"Identity(s0)", 7},
	} {
		e, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got, err := e.Int(values); err != nil || got != c.want {
			t.Errorf("%s = %d, %v; want %d", c.text, got, err, c.want)
		}
		again, err := Parse(e.String())
		if err != nil {
			t.Errorf("%s, written as %v: %v", c.text, e, err)
			continue
		}
		if got, err := again.Int(values); err != nil || got != c.want {
			t.Errorf("%s, written as %v, is %d, %v", c.text, e, got, err)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "ends too early"}, {"s0 +", "ends too early"}, {"s0 s1", `"s1" is left over`}, {"(s0", `where ")" should`}, {"Max(1,", "ends too early"},
		{"'s0", "has no end"}, {"s0 @ 2", `"@" is left over`}, {"s0 // 0", "division by zero"}, {"s0 % 0", "division by zero"}, {"s0 / 2", "no integer"},
		{"2**65", "exponent"}, {"9223372036854775807 * 2", "no integer of 64 bits"}, {"foo(s0)", "foo is not supported"}, {"s9", "s9 has no value"},
		{"1e999", "too long"}, {"(2**64)**64", "more than 1024 bits"}, {"FloorDiv(1)", "has 1 operands"}, {strings.Repeat("(", 300), "nested more than"}, {strings.Repeat("-", 300) + "1", "nested more than"},
		{strings.Repeat("s", MaxText+1), "bytes"}, {"1.2.3", "no number"}, {"Max('x')", "unexpected"}, {"Symbol('7')", "no name"}, {"Symbol('True')", "no name"},
	} {
		e, err := Parse(c.text)
		if err == nil {
			_, err = e.Int(map[string]int64{"s0": 7})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: error %v; want %q", c.text, err, c.want)
		}
	}
}

func TestString(t *testing.T) {
	for text, want := range map[string]string{
		"Mul(Integer(2), Symbol('s0'))": "2*s0", "Add(Symbol('s0'), Integer(-1))": "s0 + (-1)", "FloorDiv(Add(Symbol('s0'), Integer(1)), Integer(2))": "(s0 + 1)//2", "Max(1, s0)": "Max(1, s0)",
	} {
		e, err := Parse(text)
		if err != nil || e.String() != want {
			t.Errorf("%s is written %v, %v; want %s", text, e, err, want)
		}
	}
}

// Whatever the text, it is refused or gives an expression whose text means the same.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"s0*4", "Max(1, Symbol('s0', positive=True))", "2**-3", "Float('2.5')", "s0 <= 3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		if err != nil {
			return
		}
		values := make(map[string]int64)
		for _, name := range e.Symbols() {
			values[name] = 5
		}
		v, err := e.Int(values)
		if err != nil {
			return
		}
		again, err := Parse(e.String())
		if err != nil {
			t.Fatalf("%q is written %v: %v", text, e, err)
		}
		if w, err := again.Int(values); err != nil || v != w {
			t.Fatalf("%q = %d, and written as %v %d, %v", text, v, e, w, err)
		}
	})
}
