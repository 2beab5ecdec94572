package pass

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestReasons checks that every reason that the code can give is one that a
// program of testdata is given: a precondition without such a program would be
// untested.
func TestReasons(t *testing.T) {
	all, declined := givenReasons(t)
	sites := reasonSites(t)
	if len(sites) < 60 {
		t.Fatalf("only %d reasons are found in the code", len(sites))
	}
	for place, pattern := range sites {
		if !slices.ContainsFunc(all, pattern.MatchString) {
			t.Errorf("%s: no program of testdata is given this reason: %s", place, pattern)
		}
	}
	for rule, kinds := range sharedReasons {
		for _, kind := range kinds {
			if !slices.ContainsFunc(declined[rule], regexp.MustCompile(kind).MatchString) {
				t.Errorf("rule %s: no program of testdata is declined because it %q", rule, kind)
			}
		}
	}
}

// Reasons that several rules give through functions that they share.
const (
	output   = `is an output of the program`
	consumer = `has another consumer`
	storage  = `takes the storage of`
	rounding = `every operator rounds its result`
)

// sharedReasons are those of each rule that calls such a function.
var sharedReasons = map[string][]string{
	"matmul-bias":        {output, consumer, storage, rounding},
	"linear-activation":  {output, consumer, storage, rounding},
	"linear-residual":    {output, consumer, storage, rounding},
	"stable-softmax":     {output, consumer, storage, rounding},
	"rms-norm":           {output, consumer, storage, rounding},
	"layer-norm":         {consumer},
	"attention":          {output, consumer, storage, rounding},
	"shared-projections": {output, consumer},
	"reciprocal-root":    {output, consumer, rounding},
	"move-view":          {output, consumer, storage},
	"multiply-by-one":    {storage},
	"share":              {storage},
	"fuse":               {output, storage},
}

// givenReasons lists the reasons for what happens to the programs of testdata,
// and those for declining by rule.
func givenReasons(t *testing.T) (all []string, declined map[string][]string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	declined = make(map[string][]string)
	note := func(r *report) {
		for _, d := range r.rewrites {
			all = append(all, d.Reason)
			if d.Action == Declined {
				declined[d.Rule] = append(declined[d.Rule], d.Reason)
			}
		}
	}
	note(wideWeights(t))
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		section := make(map[string]string)
		for _, f := range archive.Files {
			section[f.Name] = string(f.Data)
		}
		r := &report{pass: strings.TrimSpace(section["pass"])}
		if err := table[indexOf(r.pass)].run(parse(t, section["before"]), r); err != nil {
			t.Fatal(err)
		}
		note(r)
	}
	return all, declined
}

// wideWeights declines to join weights beyond a limit that is lower than that
// of the pass, which no program for tests should reach.
func wideWeights(t *testing.T) *report {
	t.Helper()
	r := &report{pass: "fuse-shared-projections"}
	g := parse(t, `graph wide(%x: f32[1,2]) {
  %w: f32[2,1] = const {value = f32[2,1] 1.0 2.0}
  %v: f32[2,1] = const {value = f32[2,1] 3.0 4.0}
  %0: f32[1,1] = matmul %x, %w
  %1: f32[1,1] = matmul %x, %v
  %2: f32[1,1] = add %0, %1
  return %2
}`)
	if err := shareProjections(g, r, 15); err != nil {
		t.Fatal(err)
	}
	return r
}

// reasonSites finds in the source of the package what reasons are made of, and
// returns a pattern for each by its place: the third argument of declined and
// no, what is assigned to a variable called reason or why, and what a function
// returns as a string beside a list of values.
func reasonSites(t *testing.T) map[string]*regexp.Regexp {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	sites := make(map[string]*regexp.Regexp)
	note := func(e ast.Expr) {
		if pattern, ok := reasonPattern(e); ok {
			sites[set.Position(e.Pos()).String()] = regexp.MustCompile(pattern)
		}
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "declined" || f.Sel.Name == "no") && len(n.Args) > 2 {
					note(n.Args[2])
				}
			case *ast.AssignStmt:
				if v, ok := n.Lhs[0].(*ast.Ident); ok && (v.Name == "reason" || v.Name == "why") {
					note(n.Rhs[0])
				}
			case *ast.FuncDecl:
				if i := reasonResult(n.Type); i >= 0 {
					returned(n.Body, i, note)
				}
			}
			return true
		})
	}
	return sites
}

// reasonResult is the index of a string that is followed by values in the
// results of a function; -1 when there is none.
func reasonResult(f *ast.FuncType) int {
	if f.Results == nil {
		return -1
	}
	index, previous := 0, ""
	for _, field := range f.Results.List {
		kind := fmt.Sprint(field.Type)
		if _, ok := field.Type.(*ast.ArrayType); ok && previous == "string" {
			return index - 1
		}
		previous = kind
		index += max(1, len(field.Names))
	}
	return -1
}

// returned calls note with result i of every return statement.
func returned(body *ast.BlockStmt, i int, note func(ast.Expr)) {
	ast.Inspect(body, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		if r, ok := n.(*ast.ReturnStmt); ok && i < len(r.Results) {
			note(r.Results[i])
		}
		return true
	})
}

var verb = regexp.MustCompile(`%[vdsq]`)

// reasonPattern writes an expression as a pattern: literals as they are, all
// else as anything. It is false for an expression without text of its own.
func reasonPattern(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return regexp.QuoteMeta(text), err == nil && text != ""
	case *ast.BinaryExpr:
		x, ok := reasonPattern(e.X)
		y, also := reasonPattern(e.Y)
		return x + y, ok || also
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Sprintf" {
			text, ok := reasonPattern(e.Args[0])
			return verb.ReplaceAllString(text, ".+"), ok
		}
	}
	return ".+", false
}
