package gocell

import (
	"go/token"
	"go/types"
	"strings"

	"forgekernel/kernel/gocell/hostpkg"
	"forgekernel/kernel/gocell/hostpkg/archive"
)

// inspectLanguage describes what belongs to Go itself: keywords, and names that
// are predeclared.
func inspectLanguage(name string) (Inspection, bool) {
	if text, ok := keywords[name]; ok {
		form, meaning, _ := strings.Cut(text, "\n\n")
		return Inspection{Signature: form, Doc: meaning, Defined: "the language"}, true
	}
	if types.Universe.Lookup(name) == nil {
		return Inspection{}, false
	}
	doc, ok := hostpkg.Doc(archive.Predeclared, name)
	if !ok { // nil, for one, is of no use without a word about it
		return Inspection{}, false
	}
	declaration, meaning, _ := strings.Cut(doc, "\n\n")
	return Inspection{Signature: declaration, Doc: meaning, Defined: "the language"}, true
}

// keywords are the forms of each and what they mean.
var keywords = map[string]string{
	token.BREAK.String():       "break\nbreak Label\n\nEnds the innermost for, switch or select, or the one that the label stands before.",
	token.CASE.String():        "case a, b:\ncase x := <-ch:\n\nBegins what a switch does for these values, or a select for this operation. It does not fall through to the next.",
	token.CHAN.String():        "chan T\nchan<- T\n<-chan T\n\nThe type of channels of T: for both directions, to send to, to receive from. make(chan T, n) makes one that holds n values.",
	token.CONST.String():       "const name = value\nconst ( a = iota; b; c )\n\nDeclares constants. In a group iota counts the lines from 0, and a line without a value repeats the one above.",
	token.CONTINUE.String():    "continue\ncontinue Label\n\nBegins the next turn of the innermost loop, or of the one that the label stands before.",
	token.DEFAULT.String():     "default:\n\nBegins what a switch does when no case fits, or a select when no operation is ready.",
	token.DEFER.String():       "defer f(x)\n\nCalls f when the function around it returns or panics; x is evaluated now. Outside of functions the call runs at the end of the cell.",
	token.ELSE.String():        "if condition { … } else { … }\n\nWhat an if does when its condition is false. It stands on the line of the closing brace.",
	token.FALLTHROUGH.String(): "fallthrough\n\nLast in a case: goes on with the body of the next one.",
	token.FOR.String():         "for { … }\nfor condition { … }\nfor i := 0; i < n; i++ { … }\nfor i := range n { … }\nfor i, v := range list { … }\n\nThe only loop. A range goes over an integer, array, slice, string, map, channel or iterator function; its variables are new in each turn.",
	token.FUNC.String():        "func name(a, b T) (R, error) { … }\nfunc (recv T) Name() { … }\nfunc(x int) int { return x + 1 }\n\nDeclares a function or a method, or is a function value, which may use the variables around it.",
	token.GO.String():          "go f(x)\n\nCalls f in a goroutine of its own. What it prints goes to this cell; %goroutines lists those that still run.",
	token.GOTO.String():        "goto Label\n\nGoes on at the label, which is in the same function, not within another block.",
	token.IF.String():          "if condition { … } else if other { … } else { … }\nif v, err := f(); err != nil { … }\n\nRuns one of its blocks. A statement before the condition has its variables in all of them.",
	token.IMPORT.String():      "import \"path\"\nimport name \"path\"\nimport . \"path\"\n\nMakes a package usable, under its own name, under another, or without one. The standard library, gonum, forge, nebula and display need no import; %goget fetches others.",
	token.INTERFACE.String():   "interface { Method(x T) R }\ninterface { ~int | ~float64 }\n\nThe type of all values with these methods, or a constraint on the types that a type parameter stands for.",
	token.MAP.String():         "map[K]V\n\nThe type of maps from K to V. map[string]int{\"a\": 1} makes one; v, ok := m[k] tells whether there is an entry.",
	token.PACKAGE.String():     "package main\n\nNames the package of a file. A cell needs none, and one that is pasted does no harm.",
	token.RANGE.String():       "for i, v := range x { … }\n\nGoes over an integer, array, slice, string, map, channel or iterator function. Either variable may be left out.",
	token.RETURN.String():      "return x, err\n\nEnds the function with these results. Results that have names may be left out.",
	token.SELECT.String():      "select { case v := <-in: … case out <- x: … default: … }\n\nWaits until one of its channel operations can go on, and runs that case; with default it does not wait.",
	token.STRUCT.String():      "struct { Name string; X, Y int }\n\nThe type of a record of fields. A field without a name embeds its type, whose fields and methods then are the struct's, too.",
	token.SWITCH.String():      "switch x { case 1, 2: … default: … }\nswitch { case x > 3: … }\nswitch v := x.(type) { case int: … }\n\nRuns the first case that fits: by value, by condition, or by the type of what an interface holds.",
	token.TYPE.String():        "type Name struct { … }\ntype Name[T any] …\ntype Name = Other\n\nDeclares a type, which may have methods, or another name of one. Declared again in a later cell it is a new type; values made before keep theirs.",
	token.VAR.String():         "var name T\nvar name = value\n\nDeclares variables, which are zero without a value. Within functions and at the top of a cell name := value does the same.",
}
