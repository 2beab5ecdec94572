package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	rewrite "forgekernel/forge/pass"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
)

// difference is where two continuations part, and by how much each had decided.
type difference struct {
	at          int // -1 if they are equal
	left, right float64
}

func (d difference) String() string {
	if d.at < 0 {
		return "equal"
	}
	return fmt.Sprintf("token %d differs, where the likeliest two were %.3f and %.3f apart", d.at+1, d.left, d.right)
}

// parting compares two continuations.
func parting(a, b continuation) difference {
	for i := range max(len(a.tokens), len(b.tokens)) {
		switch {
		case i >= len(a.tokens) || i >= len(b.tokens):
			return difference{i, math.Inf(1), math.Inf(1)}
		case a.tokens[i] != b.tokens[i]:
			return difference{i, a.margins[i], b.margins[i]}
		}
	}
	return difference{at: -1}
}

// report says how many continuations are equal, and how the others part.
func report(w io.Writer, title string, prompts []prompt, a, b []continuation) {
	equal, lines := 0, ""
	for i, p := range prompts {
		if d := parting(a[i], b[i]); d.at < 0 {
			equal++
		} else {
			lines += fmt.Sprintf("    %-10s %v\n", p.Kind, d)
		}
	}
	fmt.Fprintf(w, "  %s: %d of %d equal\n%s", title, equal, len(prompts), lines)
}

// column is the width of a text beside another one.
const column = 56

// show writes a prompt and its two continuations beside one another.
func (s *subject) show(w io.Writer, p prompt, ours, theirs continuation) {
	fmt.Fprintf(w, "\n%s: %s\n", p.Kind, strings.ReplaceAll(p.Text, "\n", "⏎"))
	left := append([]string{"Nebula", ""}, wrapped(s.decoded(ours.tokens))...)
	right := append([]string{"llama.cpp", ""}, wrapped(s.decoded(theirs.tokens))...)
	for i := range max(len(left), len(right)) {
		var l, r string
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		fmt.Fprintf(w, "  %s%s │ %s\n", l, strings.Repeat(" ", max(0, column-utf8.RuneCountInString(l))), r)
	}
}

func (s *subject) decoded(tokens []int32) string {
	var b strings.Builder
	for _, t := range tokens {
		b.Write(s.text.Token(t))
	}
	return strings.ToValidUTF8(b.String(), "�")
}

// wrapped are the lines of a text, none longer than a column.
func wrapped(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		runes := []rune(line)
		for len(runes) > column {
			cut := column
			for i := column; i > column/2; i-- {
				if runes[i] == ' ' {
					cut = i
					break
				}
			}
			lines, runes = append(lines, string(runes[:cut])), runes[cut:]
		}
		lines = append(lines, string(runes))
	}
	return lines
}

// chunk is how many tokens of a text a program takes.
const chunk = 64

// losses are minus the logarithms of the probabilities of all tokens of a text but
// the first, each given those before it.
func losses(ctx context.Context, m *model.Model, tokens []int32) ([]float64, error) {
	capacity := (len(tokens) + chunk - 1) / chunk * chunk
	g, err := m.Graph(model.Form{
		Place: shard.Single(), DType: tensor.F32, Rows: 1, Tokens: chunk,
		Cache: model.Contiguous{Capacity: capacity}, Logits: model.All,
	})
	if err != nil {
		return nil, err
	}
	r, err := rewrite.Run(g, rewrite.Options{})
	if err != nil {
		return nil, err
	}
	exe, err := cpu.New().Compile(ctx, r.Graph)
	if err != nil {
		return nil, err
	}
	inputs := map[string][]int32{}
	var in, out []*tensor.Tensor
	for _, v := range r.Graph.Inputs {
		t, err := tensor.Zeros(v.Spec.DType, v.Spec.Shape...)
		if err != nil {
			return nil, err
		}
		in = append(in, t)
		if v.Spec.DType == tensor.I32 {
			inputs[v.Name] = t.Int32()
		}
	}
	logits, err := tensor.Zeros(tensor.F32, 1, chunk, m.Config.Vocab)
	if err != nil {
		return nil, err
	}
	out = append([]*tensor.Tensor{logits}, in[len(inputs):]...) // the caches, in their place
	var list []float64
	for at := 0; at < len(tokens)-1; at += chunk {
		n := copy(inputs["tokens"], tokens[at:])
		inputs["pos"][0], inputs["length"][0] = int32(at), int32(at+n)
		if err := backend.RunInto(ctx, exe, out, in); err != nil {
			return nil, err
		}
		for i := range min(n, len(tokens)-1-at) {
			list = append(list, loss(logits.Float32()[i*m.Config.Vocab:(i+1)*m.Config.Vocab], tokens[at+i+1]))
		}
	}
	return list, nil
}

// loss is minus the natural logarithm of the probability of a token.
func loss(logits []float32, token int32) float64 {
	top := math.Inf(-1)
	for _, x := range logits {
		top = max(top, float64(x))
	}
	sum := 0.
	for _, x := range logits {
		sum += math.Exp(float64(x) - top)
	}
	return top + math.Log(sum) - float64(logits[token])
}

// perplexityOf is the exponential of the mean loss.
func perplexityOf(losses []float64) float64 {
	sum := 0.
	for _, l := range losses {
		sum += l
	}
	return math.Exp(sum / float64(len(losses)))
}
