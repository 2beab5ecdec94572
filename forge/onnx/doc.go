package onnx

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// notes tell what of an operator is not supported, or is done in a way of its own.
var notes = map[string]string{
	"Attention":                             "Becomes one attention unless scores are capped. Modes 1 and 2 of the scores are refused.",
	"BatchNormalization":                    "Before version 9 with spatial=1 only; from 14 on also in training mode.",
	"Cast":                                  "Integers lose the bits that do not fit; floats saturate; no strings, no types of 8 or 4 bits of floats.",
	"CastLike":                              "As Cast.",
	"Compress":                              "The condition must be known.",
	"ConvInteger":                           "Sums are exact, in f32 or f64.",
	"Constant":                              "No strings, no sparse values.",
	"CumSum":                                "The axis must be known.",
	"Dropout":                               "Passes its operand; training mode is refused unless the ratio is 0.",
	"Einsum":                                "At most 64 operands.",
	"GridSample":                            "Images of two dimensions.",
	"If":                                    "A known condition takes its branch; otherwise both are computed, which costs the branch that is not taken, and their results, of equal shapes, are chosen from.",
	"LayerNormalization":                    "Also below version 17, where exports of ONNX Runtime have it.",
	"Loop":                                  "Unrolled: the number of rounds and the condition must be known, at most 4096.",
	"LSTM":                                  "Unrolled. Activations Tanh, Sigmoid and Relu.",
	"GRU":                                   "Unrolled. Activations Tanh, Sigmoid and Relu.",
	"RNN":                                   "Unrolled. Activations Tanh, Sigmoid and Relu.",
	"MatMulInteger":                         "Sums are exact, in f32 or f64.",
	"MaxPool":                               "Indices in up to two dimensions.",
	"NonZero":                               "The operand must be known.",
	"QuantizeLinear":                        "To integers of 8 and 16 bits, per tensor or axis; blocks are refused.",
	"DequantizeLinear":                      "From integers of 8, 16 and 32 bits, per tensor or axis; blocks are refused.",
	"Range":                                 "Its operands must be known.",
	"ReverseSequence":                       "The lengths must be known.",
	"RoiAlign":                              "Averages with a fixed sampling_ratio; maxima are refused.",
	"Scan":                                  "Unrolled, at most 4096 slices.",
	"SimplifiedLayerNormalization":          "The name that exports of ONNX Runtime give RMSNormalization.",
	"TopK":                                  "k must be known.",
	"Unique":                                "The operand must be known.",
	"com.microsoft.Attention":               "Masks of lengths [B], and of 0 and 1 [B,K], [B,Q,K] or [B,1,Q,K]; no rotary positions.",
	"com.microsoft.FusedMatMul":             "No transposed batches.",
	"com.microsoft.MatMulNBits":             "Of 2, 4 and 8 bits, which must be known and are held as floats; no g_idx.",
	"com.microsoft.MultiHeadAttention":      "Padding masks as Attention's; no queries, keys and values in one operand.",
	"com.microsoft.EmbedLayerNormalization": "The index of a mask is its number of ones.",
}

// Doc is the table of operators in Markdown.
func Doc() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# ONNX operators

Generated from the registrations in this package. %d operators are imported. A version is that of the operator set: an
operator is imported with the meaning that it has in the version that the model names, from the one given on, up to %d.
Operands that act as attributes, such as shapes, axes, pads and sizes, must be known when a program is compiled: from
constants of the file, from shapes, or from an input that is bound to a value. Functions of a model are replaced by their
bodies, before this table is looked at.

| operator | from version | notes |
|---|---|---|
`, len(operators), MaxOpset)
	for _, name := range slices.SortedFunc(maps.Keys(operators), byDomain) {
		fmt.Fprintf(&b, "| `%s` | %d | %s |\n", name, operators[name].since, notes[name])
	}
	return b.String()
}

// byDomain puts the default domain first.
func byDomain(a, b string) int {
	if x, y := strings.Contains(a, "."), strings.Contains(b, "."); x != y {
		if x {
			return 1
		}
		return -1
	}
	return strings.Compare(a, b)
}
