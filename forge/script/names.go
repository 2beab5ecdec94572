package script

import "fmt"

// elsewhere maps functions that people know from Python, NumPy and PyTorch to
// what ForgeScript writes for them.
var elsewhere = map[string]string{
	"range":       "there are no loops; " + noLoops,
	"len":         "shapes are static: write the number itself",
	"float":       "every tensor is float32 already",
	"int":         "every tensor is float32",
	"power":       "write pow(x, y)",
	"square":      "write x * x",
	"add":         "write a + b",
	"sub":         "write a - b",
	"subtract":    "write a - b",
	"mul":         "write a * b",
	"multiply":    "write a * b",
	"div":         "write a / b",
	"divide":      "write a / b",
	"dot":         "write a @ b",
	"mm":          "write a @ b",
	"bmm":         "write a @ b",
	"linear":      "write x @ transpose(w) + b",
	"amax":        "write max(x, axis=…)",
	"amin":        "write min(x, axis=…)",
	"cat":         "write concat(a, b, axis=…)",
	"concatenate": "write concat(a, b, axis=…)",
	"logsoftmax":  "write log_softmax(x, axis=…)",
	"rmsnorm":     "write rms_norm(x, weight)",
	"layernorm":   "write layer_norm(x, weight, bias)",
	"clip":        "write minimum(maximum(x, low), high)",
	"clamp":       "write minimum(maximum(x, low), high)",
	"where":       "write the choice with maximum, minimum or arithmetic",
	"swish":       "write silu(x)",
	"var":         "write d = x - mean(x, axis=-1, keepdims=True), then mean(d * d, axis=-1, keepdims=True)",
	"std":         "take sqrt of the variance: d = x - mean(x, axis=-1, keepdims=True), then sqrt(mean(d * d, axis=-1, keepdims=True))",
	"view":        "write reshape(x, …)",
	"permute":     "write transpose(x, …)",
	"squeeze":     "write reshape(x, …) without the dimension",
	"unsqueeze":   "write reshape(x, …) with a dimension of 1",
	"absolute":    "write abs(x)",
	"negative":    "write -x",
	"average":     "write mean(x)",
}

// modules are the usual names of Python's array libraries.
var modules = wordSet("np numpy torch F nn tf jnp jax math")

func noModules(name string) string {
	return fmt.Sprintf("ForgeScript has no modules, so %s means nothing", name)
}

// numbers are the constants of those libraries that float32 can hold.
var numbers = map[string]string{
	"pi":  "3.1415927",
	"tau": "6.2831855",
	"e":   "2.7182817",
}

// reserved are names that a ForgeScript function cannot have because it also
// becomes a Go value: Go's keywords and the packages that every Go cell sees.
var reserved = wordSet("break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var _ forge nebula display")
