package gocell

import (
	"go/types"
	"regexp"
	"strings"

	"forgekernel/kernel/gocell/eval"
)

// People who come from Python, or from a shell, write as there. Where a faulty line
// has one of its shapes, the error says what to write instead.

const defHint = "a cell that starts with def is ForgeScript; put it in a cell of its own"

const captureHint = `a !command stands alone, above the code; a Go value of what it prints is out, err := exec.Command("ls", "-l").Output()`

// captured is a line that gives the output of a !command to a variable.
var captured = regexp.MustCompile(`^\s*\w+(\s*,\s*\w+)*\s*:?=\s*!\s*[\w./~][\w./~-]*(\s+[^\s&|=<>+]|\s*$)`)

// habits are shapes of lines that do not parse as Go, the most telling first.
// String literals are empty in what they are matched with.
var habits = []struct {
	shape *regexp.Regexp
	hint  string
}{
	{regexp.MustCompile(`^\s*(async\s+)?def\s+\w+\s*\(`), defHint},
	{regexp.MustCompile(`^\s*@\w`), "Go has no decorators; a cell that starts with def is ForgeScript, other cells are Go"},
	{regexp.MustCompile(`^\s*(from\s+[\w.]+\s+import\b|import\s+\w[\w.]*(\s*,|\s+as\b|\s*$))`),
		`this looks like Python; Go writes import "path", and the standard library, forge, nebula and display need no import`},
	{captured, captureHint},
	{regexp.MustCompile(`\w\[[^\[\]]*:[^\[\]]*:[^\[\]]*\]`), "Go's slices have no step; write for i := 0; i < len(x); i += 2 { … }, or slices.Reverse(x)"},
	{regexp.MustCompile(`=\s*%{1,2}[A-Za-z]`), "a magic has no value: it stands alone, above the code"},
	{regexp.MustCompile(`^\s*class\s+\w+.*:`), "this looks like Python; Go writes type Name struct { … } and func (n Name) Method() { … }"},
	{regexp.MustCompile(`\bfor\s+.+\s+in\s+`), "this looks like Python; Go writes for i := range 3 { … } or for i, v := range list { … }"},
	{regexp.MustCompile(`^\s*while\b`), "this looks like Python; Go writes for condition { … }"},
	{regexp.MustCompile(`\S\s+if\s.+\belse\b`), "Go has no conditional expression; write an if statement"},
	{regexp.MustCompile(`^\s*(if\b.*|elif\b.*|else\s*):\s*$`), "this looks like Python; Go writes if condition { … } else { … }"},
	{regexp.MustCompile(`^\s*(try|except|finally|with|raise|assert|del|pass|yield|global|nonlocal)\b`),
		"this looks like Python; a cell that starts with def is ForgeScript, other cells are Go"},
	{regexp.MustCompile(`\blambda\b`), "this looks like Python; Go writes func(x int) int { return x + 1 }"},
	{regexp.MustCompile(`\b[fF]["']`), `this looks like Python; Go writes fmt.Printf("%v\n", x)`},
	{regexp.MustCompile(`^\s*print\s+[^\s(=]`), "this looks like Python; Go writes fmt.Println(x)"},
	{regexp.MustCompile(`(^|[=(])\s*range\s*\(`), "this looks like Python; Go writes for i := range 3 { … }"},
	{regexp.MustCompile(`(^|[=(])\s*type\s*\(\s*\w+\s*\)`), `Go writes fmt.Printf("%T\n", x)`},
	{regexp.MustCompile(`(^|\s)(not\s+)?in\s+\w`), "this looks like Python; Go writes slices.Contains(list, x), or _, ok := m[x] for a map"},
	{regexp.MustCompile(`\bis\s+(not\s+)?(None|nil|null)\b`), "this looks like Python; Go writes x == nil"},
	{regexp.MustCompile(`[(,]\s*\w+\s*=[^=]`), "Go passes arguments by position, without names"},
	{regexp.MustCompile(`(^|[=(,])\s*\[[^\]]*\]\s*($|[),])`), "this looks like Python; Go writes []int{1, 2, 3}"},
	{regexp.MustCompile(`(^|=)\s*\{.*:.*\}\s*$`), `this looks like Python; Go writes map[string]int{"a": 1}`},
	{regexp.MustCompile(`\b(and|or|not)\b`), "this looks like Python; Go writes && || !"},
	{regexp.MustCompile(`^\s*(let|auto|int|float|double|bool|char|string)\s+\w+\s*=`), "Go writes x := 3, or var x int = 3"},
	{regexp.MustCompile(`=>`), "Go writes func(x int) int { return x + 1 }"},
	{regexp.MustCompile(`^\s*function\s+\w+\s*\(`), "Go writes func name(x int) int { … }"},
	{regexp.MustCompile(`(^|[=(\s])(\+\+|--)[A-Za-z_]`), "Go writes x++, as a statement of its own"},
	{regexp.MustCompile(`=[^?]*\?[^:]*:`), "Go has no conditional expression; write an if statement"},
	{regexp.MustCompile(`^\s*#`), "Go comments begin with //"},
}

// foreign are names that other languages have and Go has not.
var foreign = map[string]string{
	"None":      "Go writes nil",
	"True":      "Go writes true",
	"False":     "Go writes false",
	"null":      "Go writes nil",
	"NULL":      "Go writes nil",
	"undefined": "Go writes nil",
	"help":      "write ? behind a name to read about it: fmt.Println?",
	"dir":       "write ? behind a name to list its methods, as in x?, and %who to list what is defined",
	"str":       "Go writes fmt.Sprint(x), or strconv.Itoa(n) for an integer",
	"float":     "Go writes float64(x)",
	"double":    "Go writes float64",
	"list":      "Go writes a slice: []int{1, 2, 3}",
	"dict":      `Go writes a map: map[string]int{"a": 1}`,
	"tuple":     "a Go function returns several values: return x, y",
	"input":     "Go writes bufio.NewReader(os.Stdin).ReadString('\\n')",
	"open":      "Go writes os.ReadFile(name), or os.Open(name)",
	"enumerate": "Go writes for i, v := range list { … }",
	"zip":       "Go writes for i := range a { … a[i], b[i] … }",
	"sorted":    "Go writes slices.Sorted(slices.Values(list)), or slices.Sort(list) in place",
	"reversed":  "Go writes slices.Backward(list), or slices.Reverse(list) in place",
	"sum":       "Go writes a loop, or floats.Sum of gonum for a []float64",
	"abs":       "Go writes math.Abs(x)",
	"round":     "Go writes math.Round(x)",
	"exit":      "the session ends with its kernel, from the menu of the notebook; os.Exit(0) ends a cell",
	"quit":      "the session ends with its kernel, from the menu of the notebook; os.Exit(0) ends a cell",
	"printf":    "Go writes fmt.Printf",
	"sprintf":   "Go writes fmt.Sprintf",
	"puts":      "Go writes fmt.Println(x)",
	"console":   "Go writes fmt.Println(x)",
	"System":    "Go writes fmt.Println(x)",
	"pass":      "an empty block is { } in Go",
	"np":        "this looks like Python; tensors come from package forge",
	"torch":     "this looks like Python; tensors come from package forge, and forge.Load reads what torch.export saved",
	"plt":       "this looks like Python; package chart draws plots",
	"pd":        "this looks like Python; a slice of structs is shown as a table",
	"self":      "a Go method names its receiver: func (t T) Method()",
	"this":      "a Go method names its receiver: func (t T) Method()",
}

// methods are those that strings, slices and maps have in other languages, in lower
// case and without underscores, and what Go writes.
var methods = map[string]map[string]string{
	"string": {
		"upper": "strings.ToUpper(s)", "touppercase": "strings.ToUpper(s)", "lower": "strings.ToLower(s)", "tolowercase": "strings.ToLower(s)",
		"split": `strings.Split(s, ",")`, "strip": "strings.TrimSpace(s)", "trim": "strings.TrimSpace(s)", "replace": "strings.ReplaceAll(s, old, new)",
		"startswith": "strings.HasPrefix(s, prefix)", "endswith": "strings.HasSuffix(s, suffix)", "find": "strings.Index(s, part)", "indexof": "strings.Index(s, part)",
		"contains": "strings.Contains(s, part)", "includes": "strings.Contains(s, part)", "count": "strings.Count(s, part)", "join": `strings.Join(list, ",")`,
		"format": "fmt.Sprintf(format, values...)", "encode": "[]byte(s)", "length": "len(s)", "len": "len(s)", "size": "len(s)",
	},
	"slice": {
		"append": "s = append(s, v)", "push": "s = append(s, v)", "add": "s = append(s, v)", "extend": "s = append(s, other...)",
		"pop": "v := s[len(s)-1], then s = s[:len(s)-1]", "insert": "s = slices.Insert(s, i, v)", "remove": "s = slices.Delete(s, i, i+1)",
		"sort": "slices.Sort(s)", "reverse": "slices.Reverse(s)", "copy": "slices.Clone(s)", "index": "slices.Index(s, v)", "indexof": "slices.Index(s, v)",
		"contains": "slices.Contains(s, v)", "includes": "slices.Contains(s, v)", "join": `strings.Join(s, ",")`, "max": "slices.Max(s)", "min": "slices.Min(s)",
		"map": "for i, v := range s { … }", "filter": "for i, v := range s { … }", "foreach": "for i, v := range s { … }", "length": "len(s)", "len": "len(s)", "size": "len(s)",
	},
	"map": {
		"keys": "slices.Sorted(maps.Keys(m)), or for k := range m { … }", "values": "for _, v := range m { … }", "items": "for k, v := range m { … }",
		"get": "v, ok := m[key]", "has": "_, ok := m[key]", "contains": "_, ok := m[key]", "containskey": "_, ok := m[key]", "set": "m[key] = v", "put": "m[key] = v",
		"pop": "delete(m, key)", "remove": "delete(m, key)", "delete": "delete(m, key)", "update": "maps.Copy(m, other)", "copy": "maps.Clone(m)",
		"length": "len(m)", "len": "len(m)", "size": "len(m)",
	},
}

// methodHint says what Go writes for a method of other languages, "" for what it
// does not know.
func methodHint(t types.Type, name string) string {
	kind := ""
	switch t := t.Underlying().(type) {
	case *types.Basic:
		if t.Info()&types.IsString != 0 {
			kind = "string"
		}
	case *types.Slice:
		kind = "slice"
	case *types.Map:
		kind = "map"
	}
	if instead := methods[kind][strings.ToLower(strings.ReplaceAll(name, "_", ""))]; instead != "" {
		return "Go writes " + instead
	}
	return ""
}

// commands are the programs that people run from cells, and what they may be in
// IPython; the value says what to write when that is not the line behind a !.
var commands = map[string]string{
	"ls": "", "cat": "", "echo": "", "pwd": "", "mkdir": "", "rm": "", "cp": "", "mv": "", "head": "", "tail": "", "grep": "", "find": "",
	"git": "", "wget": "", "curl": "", "make": "", "which": "", "python": "", "python3": "", "apt": "", "sudo": "", "du": "", "df": "", "tar": "", "unzip": "", "nvidia-smi": "",
	"cd": "write %cd DIRECTORY", "pip": "there is no Python here; !pip reaches the machine's own, and %goget fetches modules of Go",
	"conda": "there is no Python here", "export": "write %env NAME=VALUE", "go": "",
}

var (
	trailing  = regexp.MustCompile(`(\S\s*)(#|//).*`)
	literal   = regexp.MustCompile(`"([^"\\]|\\.)*"|` + "`[^`]*`")
	toolchain = regexp.MustCompile(`^go\s+(build|run|get|install|mod|version|test|env|vet|fmt|doc|list|tool)\b`)
)

// shapeHint says what Go writes for a shape that a line has, "" when it has
// none of those known.
func shapeHint(line string) string {
	if strings.Contains(line, `"""`) {
		return "Go writes texts of several lines in back quotes: `text`"
	}
	line = literal.ReplaceAllString(line, `""`)
	line = trailing.ReplaceAllString(line, "$1")
	for _, h := range habits {
		if h.shape.MatchString(line) {
			return h.hint
		}
	}
	return commandHint(line)
}

// commandHint says how a line is run that is a command of a shell.
func commandHint(line string) string {
	line = strings.TrimSpace(line)
	name, _, _ := strings.Cut(line, " ")
	instead, known := commands[name]
	switch {
	case !known || name == "go" && !toolchain.MatchString(line):
		return ""
	case instead != "":
		return instead
	}
	return "commands begin with !, above the code: !" + name
}

// hintSyntax adds what Go writes instead to the first fault of a line that has
// a known shape. The faults behind it come of reading that as Go.
func hintSyntax(src *eval.Source, list []fault) []fault {
	for i, f := range list {
		if strings.Contains(f.message, "rune literal") {
			list[i].hint = `Go writes strings in double quotes: "text"`
			return list[:i+1]
		}
		if f.hint == "" && f.at >= 0 {
			if hint := shapeHint(lineAt(src, f.at)); hint != "" {
				list[i].hint = hint
				return list[:i+1]
			}
		}
	}
	return list
}
