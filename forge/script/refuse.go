package script

import (
	"fmt"
	"strings"
)

// keywords are the words that cannot be names: those of ForgeScript and those
// of Python, so that a program never means something else there.
var keywords = wordSet("def return True False None and as assert async await break class continue del elif else except finally for from global if import in is lambda nonlocal not or pass raise try while with yield")

// blocks are the statements of Python that hold other statements.
var blocks = wordSet("if elif else for while class with try except finally async def match")

func wordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// refusal says why a word or operator of Python is not in the language, and
// what to write instead.
type refusal struct{ message, hint string }

const (
	noFlow  = "shapes are static and every line runs once: compute the values, and choose with maximum, minimum or arithmetic"
	noLoops = "write out the steps, or use a reduction or a matrix product over the whole axis"
)

// refusedWords are the keywords that start or join what ForgeScript leaves out.
var refusedWords = map[string]*refusal{
	"import":   {"ForgeScript has no imports", "every function that it knows is built in"},
	"from":     {"ForgeScript has no imports", "every function that it knows is built in"},
	"if":       {"ForgeScript has no if", noFlow},
	"elif":     {"ForgeScript has no if", noFlow},
	"else":     {"ForgeScript has no if", noFlow},
	"match":    {"ForgeScript has no match", noFlow},
	"for":      {"ForgeScript has no loops", noLoops},
	"while":    {"ForgeScript has no loops", noLoops},
	"break":    {"ForgeScript has no loops", noLoops},
	"continue": {"ForgeScript has no loops", noLoops},
	"class":    {"ForgeScript has no classes", "write functions; tensors are the only values"},
	"lambda":   {"ForgeScript has no lambda", "write a def with a name"},
	"and":      {"ForgeScript has no logic", noFlow},
	"or":       {"ForgeScript has no logic", noFlow},
	"not":      {"ForgeScript has no logic", noFlow},
	"in":       {"ForgeScript has no comparisons", noFlow},
	"is":       {"ForgeScript has no comparisons", noFlow},
	"with":     {"ForgeScript has no with", "write the statements one after another"},
	"as":       {"ForgeScript has no imports", "every function that it knows is built in"},
	"try":      {"ForgeScript has no exceptions", "a program that compiles does not fail; delete the try"},
	"except":   {"ForgeScript has no exceptions", "a program that compiles does not fail; delete the try"},
	"finally":  {"ForgeScript has no exceptions", "a program that compiles does not fail; delete the try"},
	"raise":    {"ForgeScript has no exceptions", "return a tensor"},
	"assert":   {"ForgeScript has no assert", "annotate the result to check its shape: def f(x: f32[8,16]) -> f32[8]:"},
	"del":      {"ForgeScript has no del", "values never change; the compiler frees them after their last use"},
	"global":   {"a function sees only its parameters", "pass the tensor as a parameter"},
	"nonlocal": {"a function sees only its parameters", "pass the tensor as a parameter"},
	"pass":     {"ForgeScript has no pass", "end the function with return and an expression"},
	"yield":    {"ForgeScript has no generators", "return the tensors at the end: return a, b"},
	"async":    {"ForgeScript has no async functions", "write a plain def; the compiler runs it in parallel"},
	"await":    {"ForgeScript has no async functions", "call the function"},
	"def":      {"functions do not nest", "start def in the first column"},
	"return":   {"return starts a statement", "write it on a line of its own"},
	"True":     {"True is not a tensor", "write 1.0, or use it for keepdims"},
	"False":    {"False is not a tensor", "write 0.0, or use it for keepdims"},
	"None":     {"None is not a tensor", "return or assign a tensor"},
}

const (
	noCompare = "ForgeScript has no comparisons"
	noBits    = "ForgeScript has no bit operations"
	noMutate  = "values never change, so nothing is updated in place"
)

// refusedOperators are the operators and delimiters that ForgeScript leaves
// out.
var refusedOperators = map[string]*refusal{
	"**":  {"ForgeScript has no power operator", "write x * x, or pow(x, n)"},
	"//":  {"ForgeScript has no floor division", "write / for division; comments start with #"},
	"%":   {"ForgeScript has no remainder", "compute it on the host and pass it in"},
	"==":  {noCompare, noFlow},
	"!=":  {noCompare, noFlow},
	"<>":  {noCompare, noFlow},
	"<":   {noCompare, noFlow},
	">":   {noCompare, noFlow},
	"<=":  {noCompare, noFlow},
	">=":  {noCompare, noFlow},
	"+=":  {noMutate, "write y = x + …"},
	"-=":  {noMutate, "write y = x - …"},
	"*=":  {noMutate, "write y = x * …"},
	"/=":  {noMutate, "write y = x / …"},
	"@=":  {noMutate, "write y = x @ …"},
	"//=": {noMutate, "bind the new value to a name: y = …"},
	"**=": {noMutate, "bind the new value to a name: y = …"},
	"%=":  {noMutate, "bind the new value to a name: y = …"},
	"&=":  {noMutate, "bind the new value to a name: y = …"},
	"|=":  {noMutate, "bind the new value to a name: y = …"},
	"^=":  {noMutate, "bind the new value to a name: y = …"},
	"<<=": {noMutate, "bind the new value to a name: y = …"},
	">>=": {noMutate, "bind the new value to a name: y = …"},
	":=":  {"ForgeScript has no assignment inside an expression", "write it on a line of its own with ="},
	"&":   {noBits, "tensors are float32: use + - * /"},
	"|":   {noBits, "tensors are float32: use + - * /"},
	"^":   {noBits, "write x * x for a square"},
	"~":   {noBits, "write -x for the negative"},
	"<<":  {noBits, "multiply by a power of two"},
	">>":  {noBits, "divide by a power of two"},
	"&&":  {"ForgeScript has no logic", noFlow},
	"||":  {"ForgeScript has no logic", noFlow},
	"!":   {"ForgeScript has no logic", noFlow},
	"?":   {"ForgeScript has no conditional expressions", noFlow},
	"{":   {"ForgeScript has no dictionaries, sets or braces", "indent the body by four spaces; group with parentheses"},
	"}":   {"ForgeScript has no dictionaries, sets or braces", "indent the body by four spaces; group with parentheses"},
	";":   {"a semicolon does not separate statements", "write each statement on a line of its own"},
	"...": {"... stands for nothing in ForgeScript", "write the expression"},
	"$":   {"$ has no meaning here", "remove it"},
	"`":   {"a backquote has no meaning here", "remove it"},
	"\\":  {"a backslash has no meaning here", "remove it; inside parentheses a line may be broken anywhere"},
}

// refuse reports a token that belongs to Python and not to ForgeScript, and
// whether it was one.
func (p *parser) refuse(t token) bool {
	var why *refusal
	switch t.kind {
	case word:
		why = refusedWords[t.text]
		if t.text == "match" && !p.startsMatch() {
			return false // an ordinary name
		}
	case punct:
		why = refusedOperators[t.text]
		if t.text == "@" && p.i+1 < len(p.toks) && p.startsLine() {
			why = &refusal{"ForgeScript has no decorators", "delete it"}
		}
	case str:
		if !isPlain(t.text) {
			why = &refusal{fmt.Sprintf("ForgeScript has no %s strings", t.text[:1]), "a plain string is allowed as the first line of a function, to document it"}
		}
	case bad:
		p.fail(t.Span, "", "") // the scanner has said why
		return true
	}
	if why == nil {
		return false
	}
	p.fail(t.Span, why.message, why.hint)
	return true
}

// startsLine reports whether the current token is the first of its line.
func (p *parser) startsLine() bool { return p.i == 0 || p.toks[p.i-1].kind == newline }

// startsMatch reports whether "match" at the current token opens the statement
// of Python: it does when an operand follows it.
func (p *parser) startsMatch() bool {
	next := p.toks[min(p.i+1, len(p.toks)-1)]
	return p.startsLine() && (next.kind == word || next.kind == number)
}
