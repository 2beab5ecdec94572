package shader

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"forgekernel/forge/backend/wgsl/shader/syntax"
)

// A Mutation changes one place of a shader as a mistake would.
type Mutation struct {
	Name, Source string
}

// swaps are the words that a mistake puts in the place of one another.
var swaps = map[string]string{
	"<": "<=", "<=": "<", ">": ">=", ">=": ">", "+": "-", "-": "+", "*": "+", "/": "*", "+=": "-=", "*=": "+=", "/=": "-=",
	"==": "!=", "!=": "==", "&&": "||", "||": "&&", "max": "min", "min": "max", "x": "y", "y": "x", "exp": "log",
}

// Mutations makes all mutations of the functions of a shader: swapped words,
// numbers one too large, and statements of barriers left out.
func Mutations(t testing.TB, src string) []Mutation {
	t.Helper()
	tokens, err := syntax.Scan(src)
	if err != nil {
		t.Fatal(err)
	}
	offset := offsets(src)
	var list []Mutation
	inside := false
	for i, tok := range tokens {
		if tok.Kind == syntax.EOF {
			break
		}
		inside = inside || tok.Text == "fn"
		at := offset(tok.Pos)
		end := at + len(tok.Text)
		with := swaps[tok.Text]
		switch {
		case !inside:
			continue
		case tok.Text == "x" || tok.Text == "y":
			if tokens[i-1].Text != "." {
				continue
			}
		case tok.Text == "workgroupBarrier" || tok.Text == "storageBarrier":
			with, end = "/* no barrier */", at+len(tok.Text)+3
		case tok.Kind == syntax.Integer:
			digits := tok.Text
			suffix := ""
			if last := digits[len(digits)-1]; last == 'u' || last == 'i' {
				digits, suffix = digits[:len(digits)-1], string(last)
			}
			n, err := strconv.ParseInt(digits, 0, 64)
			if err != nil {
				continue
			}
			with = fmt.Sprint(n+1) + suffix
		case tok.Kind == syntax.Symbol && tok.Joined && (tok.Text == ">" || tok.Text == "<"), tok.Kind == syntax.TemplateStart, tok.Kind == syntax.TemplateEnd:
			continue
		}
		if with == "" {
			continue
		}
		list = append(list, Mutation{fmt.Sprintf("%s %s to %s", tok.Pos, src[at:end], with), src[:at] + with + src[end:]})
	}
	return list
}

// offsets finds places of a text in its bytes.
func offsets(src string) func(syntax.Pos) int {
	starts := []int{0}
	for i, c := range src {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return func(p syntax.Pos) int { return starts[p.Line-1] + p.Col - 1 }
}

// caught says how a mutation is found out: by Parse, by Dispatch, or by the
// result; or that it is not.
func (k *kernelCase) caught(src string) (string, error) {
	m, err := Parse(src)
	if err != nil {
		return "refused", err
	}
	call := k.calls()
	call.Limits.Work = 1 << 22
	if err := m.Dispatch(context.Background(), call); err != nil {
		return "fault", err
	}
	if e := wrong(bytesFloats(call.Bindings[k.out]), k.want); e > k.tolerance {
		return "result", fmt.Errorf("relative error %g", e)
	}
	return "", nil
}

// same are the mutations that change nothing that the kernel promises.
var same = map[string]string{
	"matmul 18:22 < to <=":  "a tile beyond the end is of zeros",
	"reduce 25:15 0u to 1u": "it does not matter who writes the part",
}

func TestMutations(t *testing.T) {
	cases := map[string][]kernelCase{}
	for _, k := range kernelCases() {
		cases[k.name] = append(cases[k.name], k)
	}
	for kernel, list := range cases {
		ways := map[string]int{}
		for _, m := range Mutations(t, source(t, kernel)) {
			how, err := "", error(nil)
			for _, k := range list {
				if how == "" {
					how, err = k.caught(m.Source)
				}
			}
			ways[how]++
			name := kernel + " " + m.Name
			switch reason, ok := same[name]; {
			case how == "" && !ok:
				t.Errorf("%s: not found out", name)
			case how != "" && ok:
				t.Errorf("%s: found out by %s, %v, though %s", name, how, err, reason)
			}
		}
		t.Logf("%s: %v", kernel, ways)
		if ways["fault"] == 0 || ways["result"] == 0 {
			t.Errorf("%s: mutations are found out only so: %v", kernel, ways)
		}
	}
}
