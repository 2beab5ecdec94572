package gocell

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"sort"
	"strings"

	"forgekernel/kernel/gocell/hostpkg"
)

// cursorName stands for the name that is being typed.
const cursorName = "cellcursor"

// How likely candidates are.
const (
	rankFirst = iota // what belongs here and nowhere else
	rankFits         // what has the type that belongs here
	rankName         // of the cell or the session
	rankOwn          // predeclared names and keywords
	rankPackage
)

// Complete lists completions at a byte offset of a cell's source: the members
// of what stands before a dot, else the names in scope.
func (s *Session) Complete(src string, offset int) Completion {
	offset = min(max(offset, 0), len(src))
	part, from := around(src, offset)
	c := s.completeIn(part, offset-from)
	c.Start, c.End = c.Start+from, c.End+from
	return c
}

func (s *Session) completeIn(src string, offset int) Completion {
	if paths, ok := s.completeImport(src, offset); ok {
		return paths
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if text, ok := s.completeText(src, offset); ok {
		return text
	}
	from, to := word(src, offset)
	prefix := src[from:offset]
	result := Completion{Start: from, End: to}
	c := s.peek(src[:from] + cursorName + src[to:])
	set := candidates{found: map[string]Candidate{}}
	before := strings.TrimRight(src[:from], " \t\n")
	switch {
	case c.insideText(from):
	case strings.HasSuffix(before, ".") && !strings.HasSuffix(before, ".."):
		c.members(from, &set)
	case c.labels(from, &set):
	default:
		if index, ok := strings.CutSuffix(before, "["); ok {
			s.indexKeys(index, &set)
		}
		c.literalFields(from, &set)
		c.namesInScope(from, &set)
	}
	result.Candidates = set.matching(prefix)
	return result
}

// insideText reports whether an offset is in a comment or a string.
func (c *check) insideText(offset int) bool {
	list, _ := scan(c.src.Text)
	at := -1
	for _, l := range list {
		if l.from == offset && l.tok == token.IDENT {
			at = offset
		}
	}
	return at < 0
}

type candidates struct{ found map[string]Candidate }

func (s *candidates) add(c Candidate) { s.addRanked(rankName, c) }

func (s *candidates) addRanked(rank int, c Candidate) {
	c.rank = rank
	if _, taken := s.found[c.Text]; !taken && c.Text != "_" && c.Text != cursorName && !strings.Contains(c.Text, "·") {
		s.found[c.Text] = c
	}
}

// matching lists the candidates that begin with a prefix, in any case when
// none begins with it as it is.
func (s *candidates) matching(prefix string) []Candidate {
	var list []Candidate
	for name, c := range s.found {
		if strings.HasPrefix(name, prefix) {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		for name, c := range s.found {
			if strings.HasPrefix(strings.ToLower(name), strings.ToLower(prefix)) {
				list = append(list, c)
			}
		}
	}
	sort.Slice(list, func(i, j int) bool { // slices.SortFunc would be 14 KB of code for this type alone
		a, b := list[i], list[j]
		return cmp.Or(a.rank-b.rank, strings.Compare(a.Text, b.Text)) < 0
	})
	return list
}

// members lists what may follow the dot before an offset.
func (c *check) members(offset int, set *candidates) {
	for _, n := range c.at(offset) {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != cursorName {
			continue
		}
		if id, ok := sel.X.(*ast.Ident); ok {
			if pkg, ok := c.info.Uses[id].(*types.PkgName); ok {
				exported(pkg.Imported(), set)
				return
			}
		}
		if tv, ok := c.info.Types[sel.X]; ok && tv.Type != nil {
			selectable(tv.Type, set)
		}
	}
}

func exported(pkg *types.Package, set *candidates) {
	for _, name := range pkg.Scope().Names() {
		if token.IsExported(name) {
			set.add(candidate(pkg.Scope().Lookup(name)))
		}
	}
}

// selectable lists the fields and methods of a value of a type.
func selectable(t types.Type, set *candidates) {
	recv := t
	if _, isPointer := t.Underlying().(*types.Pointer); !isPointer && !types.IsInterface(t) {
		recv = types.NewPointer(t)
	}
	ms := types.NewMethodSet(recv)
	for i := range ms.Len() {
		if m := ms.At(i).Obj(); visible(m) {
			c := candidate(m)
			c.Kind = "method"
			set.add(c)
		}
	}
	fields(t, set, map[types.Type]bool{})
}

func visible(obj types.Object) bool {
	return obj.Exported() || obj.Pkg() != nil && obj.Pkg().Path() == "main"
}

func fields(t types.Type, set *candidates, seen map[types.Type]bool) {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok || seen[t] {
		return
	}
	seen[t] = true
	for f := range s.Fields() {
		if visible(f) {
			c := candidate(f)
			c.Kind = "field"
			set.add(c)
		}
	}
	for f := range s.Fields() {
		if f.Embedded() {
			fields(f.Type(), set, seen)
		}
	}
}

// namesInScope lists the names that may be used at an offset.
func (c *check) namesInScope(offset int, set *candidates) {
	want := c.expected(offset)
	rank := func(obj types.Object) int {
		if fits(obj, want) {
			return rankFits
		}
		return rankName
	}
	constantsOf(want, set)
	for scope := c.innermost(offset); scope != nil && scope != types.Universe; scope = scope.Parent() {
		for _, name := range scope.Names() {
			obj := scope.Lookup(name)
			set.addRanked(rank(obj), candidate(obj))
		}
	}
	for _, sym := range c.s.scope.symbols {
		if sym.kind == "import" {
			set.add(Candidate{Text: sym.name, Kind: "module", Signature: sym.path})
		} else {
			cand := candidate(sym.obj)
			cand.Text = sym.name
			set.addRanked(rank(sym.obj), cand)
		}
	}
	for _, name := range types.Universe.Names() {
		set.addRanked(rankOwn, candidate(types.Universe.Lookup(name)))
	}
	for tok := token.BREAK; tok <= token.VAR; tok++ {
		set.addRanked(rankOwn, Candidate{Text: tok.String(), Kind: "keyword"})
	}
	for _, path := range hostpkg.Paths() {
		if name, ok := hostpkg.Name(path); ok {
			if known, ok := hostpkg.Known(name); ok && known == path {
				set.addRanked(rankPackage, Candidate{Text: name, Kind: "module", Signature: path})
			}
		}
	}
}

func candidate(obj types.Object) Candidate {
	c := Candidate{Text: obj.Name(), Kind: "variable"}
	switch obj := obj.(type) {
	case *types.Func:
		c.Kind = "function"
		c.Signature = strings.TrimPrefix(types.TypeString(obj.Type(), qualify), "func")
		return c
	case *types.Builtin:
		c.Kind = "function"
		i, _ := inspectLanguage(obj.Name())
		c.Signature = strings.TrimPrefix(i.Signature, "func "+obj.Name())
		return c
	case *types.TypeName:
		c.Kind = kindOfType(obj.Type().Underlying())
		c.Signature = shortType(obj.Type().Underlying())
		return c
	case *types.Const:
		c.Kind = "constant"
	case *types.PkgName:
		return Candidate{Text: obj.Name(), Kind: "module", Signature: obj.Imported().Path()}
	case *types.Nil:
		return Candidate{Text: obj.Name(), Kind: "constant"}
	}
	c.Signature = types.TypeString(obj.Type(), qualify)
	return c
}

// kindOfType is what front ends call a type: they have icons for these, as language
// servers name them, and none for "type".
func kindOfType(t types.Type) string {
	switch t.(type) {
	case *types.Struct:
		return "struct"
	case *types.Interface:
		return "interface"
	}
	return "class"
}

// shortType names the kind of a type whose text would be long.
func shortType(t types.Type) string {
	switch t.(type) {
	case *types.Struct:
		return "struct"
	case *types.Interface:
		return "interface"
	}
	return types.TypeString(t, qualify)
}
