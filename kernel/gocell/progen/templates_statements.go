package progen

// statements is the section on them, but for what loops over functions, defers
// and runs beside.
var statements = []template{
	{"", `
$c := make(chan $T, 2)
$l:
for $i := range 4 {
	step()
	select {
	case $c <- $(T):
		show($i, len($c))
		if $i == $# { continue $l }
		$*
	default:
		switch x, ok := <-$c; {
		case $(bool): show(1, x); continue $l
		case ok: show(2, x); break $l
		}
	}
	show(3, cap($c) - len($c))
}`},
	{"", `
{
	$i := $#
	goto $b
$a:
	show(1, $i)
	$i--
$b:
	if $i > 0 { goto $a }
	for {
		if $i--; $i < -2 { goto $e }
		show(2, $i)
	}
$e:
	show(3, $i)
}`},
	{"", `
switch x := $!(string); {
case len(x) > $#: show(1, x); fallthrough
default: show(2, x); $[break$|fallthrough$]
case trace(3, x) == "a", trace(4, x) == "b": show(5, x)
}
switch trace(6, $(N)) {
case trace(7, $(N)), trace(8, $(N)): show(9, true)
default: show(10, false)
case trace(11, $(N)): show(12, true)
}
switch x := any($(K)); x { case any($(K)), 1, "a", nil: show(13, x); default: show(14, x) }
switch { }
switch f := func() bool { return $(bool) }; f() { case true: show(15, 1); case false: show(16, 2) }`},
	{"", `
for $i, x := range []any{nil, $(T), $(U), errBase, $#, func() {}, (*int)(nil), [1]$T{}, []$U{$(U)}} {
	switch v := x.(type) {
	case nil: show(1, v)
	case error, fmt.Stringer: show(2, v)
	case func(): show(3, v == nil)
	case [1]$T: show(4, v); v[0] = $(T); show(5, v)
	case *int: show(6, v == nil)
	case []$U:
		if $i > 3 { break }
		show(7, v[0])
	case interface { Len() int }: show(8, v.Len())
	case map[string]$T, struct { F $T }: show(9, v)
	default: show(10, v)
	}
	switch x.(type) { case nil: show(11, 0); case int, any: show(12, 1) }
	_, ok := x.(interface { Error() string })
	show(13, ok)
}`},
	{"", `
$o:
for $i := 0; $i < 3; $i++ {
	step()
	for $j := range 3 {
		switch {
		case $j == $#: continue $o
		case $i == $#: break $o
		case $j == $#: break
		default: { if $j == $i { continue }; show($i, $j) }
		}
		$*
		show($j, "inner")
	}
	show($i, "outer")
}
$b:
switch {
default:
	if $(bool) { break $b }
	show(1, "block")
}
$s:
switch { default: for { break $s } }`},
	{"", `
var $fs []func() int
var $ps []*int
for i, j := 0, $#; i < 4; i, j = i+1, j*2 {
	$fs = append($fs, func() int { i += 10; return i + j })
	$ps = append($ps, &i)
	if i == 2 { j++; continue }
	if i == $# { $[$fs[0]()$|i++$|*$ps[0] = 7$] }
}
for i, f := range $fs { show(i, f() + f()); show(*$ps[i], i) }
for i, x := range [3]int{1, 2, 3} { $fs = append($fs[:i], func() int { x *= 2; return x }) }
for _, f := range $fs { f(); show(1, f()) }`},
	{"", `
$x := [3]$T{$(T), $(T)}
for i, v := range $x { $x[2], $x[(i+1)%3] = $(T), v; show(i, v) }
for i, v := range &$x { $x[2] = $(T); show(i, v) }
$s := $x[:]
for i, v := range $s { $s = append($s, v); if i == 0 { $s[1] = $(T) }; show(i, v) }
show(len($s), $x)
for range $s[:$#] { $s = $s[1:] }
for i := range $N($#) { i += 2; show(1, i) }
for i, c := range "a\u00e9\xff" { show(i, c) }
const $n = 3
for i := range $n { show(2, i) }
for i := range int8(-$#) { show(3, i) }
var $i int
for $i = range $s { }
show(4, $i)
for $i = range 3 { if $i == $# { break } }
show(5, $i)`},
	{"", `
$m := map[int]$T{1: $(T), 2: $(T), 3: $(T)}
$n := 0
for k := range $m {
	if k%2 == 1 { delete($m, k) }
	$n += k
}
show($n, $m)
for k, v := range $m { show(k, v); $m[k] = $(T); clear($m) }
show(1, len($m))
for range map[bool]int(nil) { show(2, 0) }
$v, $ok := $m[2]
show(3, $v); show(4, $ok)
delete($m, 9); delete(map[string]int(nil), "a")
var $e map[$K]$T
show(5, len($e)); show(6, $e[$(K)]); show(7, $e == nil)`},
}

// deferred is what defer, panic and recover do.
var deferred = []template{
	{`
func $@f(n int) (a $T, err error) {
	defer func() {
		if r := recover(); r != nil {
			a, err = $(T), fmt.Errorf("f: %v", r)
			if n > 2 { panic(fmt.Sprint("again ", r)) }
		}
	}()
	defer func() { if n == 1 { a = $(T) } }()
	if n > 1 { panic($(T)) }
	return $(T), nil
}`, `
func() {
	defer caught(1)
	for i := range 4 { a, err := $@f(i); show(i, a); show(i, err) }
}()`},
	{"", `
func() {
	defer caught($#)
	defer func() { func() { show(1, recover()) }() }()
	defer func() { defer func() { show(2, recover()) }(); $[show(3, recover())$|panic("other")$|$] }()
	defer func() { defer caught(4); defer panic("third"); panic("second") }()
	$[panic(errBase)$|panic($(T))$|show(5, "fine")$]
}()`},
	{"", `
func() {
	defer caught(1)
	$x := $(T)
	for i := range 3 { defer show(i, $x); $x = $(T) }
	defer func(v $T) { show(4, v); $x = v; show(5, $x) }($x)
	$[var f func(); defer f()$|$]
	$[defer func() { recover() }()$|$]
	m, c := map[int]int{1: 1}, make(chan int)
	defer delete(m, 1)
	defer close(c)
	defer func() { show(len(m), m) }()
	$x = $(T)
	$+
}()`},
	{`
type $@d struct { n int }
func (d $@d) Show() { show(d.n, "deferred") }
func (d *$@d) Add(n int) int { d.n += n; return d.n }
func $@order(n int) (r int) {
	d := &$@d{n}
	defer d.Show()
	defer d.Add(1)
	d.Add(10)
	defer func() { r = r*2 + d.n }()
	defer d.Show()
	switch n {
	case 0: return d.Add(5)
	case 1: r = 3; return
	}
	for i := range n {
		defer func() { r += i }()
		if i == 2 { return r + 100 }
	}
	return d.n
}`, `
for i := range 5 { show(i, $@order(i)) }`},
	{"", `
$f := func(n int) (r any) {
	defer func() { r = recover() }()
	switch n {
	case 0: panic(nil)
	case 1: panic($(T))
	case 2: panic(fmt.Errorf("w: %w", errBase))
	case 3: panic(errors.Join(errBase, nil))
	}
	return n
}
for i := range 5 {
	r := $f(i)
	err, ok := r.(error)
	show(i, ok)
	if ok { show(i, errors.Is(err, errBase)); show(i, err.Error()) } else { show(i, r) }
}`},
	{"", `
$n := 0
$f := func(depth int) {}
$f = func(depth int) {
	defer func() {
		$n++
		if r := recover(); r != nil && depth > $# { panic(fmt.Sprint(r, depth)) }
	}()
	if depth == 4 { panic("deep") }
	$f(depth + 1)
	show(depth, "returns")
}
func() { defer caught(1); $f(0) }()
show(2, $n)`},
}

// ranged is range over functions.
var ranged = []template{
	{"", `
$f := func() (r $T) {
	defer func() { show(1, r) }()
	for i, x := range each($([]T)) {
		for j := range upTo($#) {
			defer show(j, i)
			if i + j == $# { $[return x$|break$|continue$] }
		}
		r = x
	}
	return
}
show(2, $f())`},
	{"", `
$seq := func(yield func() bool) { for yield() { } ; show(1, "done") }
$n := 0
for range $seq { if $n++; $n > $# { break } }
$o:
for i := range upTo(4) {
	step()
	for range $seq {
		switch { case i == $#: continue $o; case i == $#: break $o }
		for j, x := range each([]int{1, 2, 3}) {
			if j == $# { continue $o }
			show(i, x)
			if x == $# { break $o }
		}
		break
	}
	$*
}
show(2, $n)`},
	{"", `
$bad := func(yield func(int) bool) { yield(1); $[yield(2)$|defer yield(2)$|$] }
func() {
	defer caught(1)
	for i := range $bad { show(1, i); $[break$|continue$|panic($(T))$] }
}()
$keep := func(int) bool { return false }
func() {
	defer caught(2)
	for i := range func(yield func(int) bool) { $keep = yield; yield(3) } { show(2, i) }
	$keep(4)
}()
func() {
	defer caught(3)
	for i := range func(yield func(int) bool) { defer func() { show(3, recover()) }(); yield(5) } { panic($(T)); _ = i }
	show(4, "after")
}()`},
	{`
type $@t[E any] []E
func (t $@t[E]) Back() iter.Seq2[int, E] { return func(yield func(int, E) bool) { for i := len(t)-1; i >= 0 && yield(i, t[i]); i-- { } } }
func (t $@t[E]) Two(yield func(E, E) bool) { for i := range len(t)-1 { if !yield(t[i], t[i+1]) { return } } }
func $@filter[E any](seq iter.Seq2[int, E], keep func(int) bool) iter.Seq[E] {
	return func(yield func(E) bool) { for i, e := range seq { if keep(i) && !yield(e) { return } } }
}`, `
$t := $@t[$T]{$(T), $(T), $(T)}
var $fs []func() $T
for a, b := range $t.Two { show(1, a); $fs = append($fs, func() $T { a, b = b, a; return a }) }
for _, f := range $fs { f(); show(2, f()) }
for e := range $@filter($t.Back(), func(i int) bool { return i != $# }) { show(3, e); $* }
show(4, slices.Collect($@filter(slices.All($t), func(i int) bool { return i > 0 })))
$next, $stop := iter.Pull2($t.Back())
$i, $e, $ok := $next()
show($i, $e); show(5, $ok); $stop()
$i, $e, $ok = $next()
show($i, $e); show(6, $ok)`},
	{"", `
$f := func(n int) (a int, err error) {
	defer func() { if r := recover(); r != nil { err = fmt.Errorf("%v", r) } }()
	for i := range upTo(3) {
		for j := range upTo(3) {
			defer func() { a += i * j }()
			if n == i + j { return n * 100, nil }
			if n == 7 && j == 1 { panic("seven") }
			if n == 8 { goto out }
		}
	}
out:
	a++
	return
}
for _, n := range []int{0, 2, 4, 7, 8, 9} { a, err := $f(n); show(a, err) }`},
	{`
func $@f(n int) (a $T, s string) {
	for i, x := range each($([]T)) {
		defer func() { $[a, s = x, fmt.Sprint(s, i)$|s += fmt.Sprint(recover(), i)$|show(i, a); a = $(T)$]; _ = x }()
		for j := range upTo($#) { $[defer func() { s += fmt.Sprint(i, j) }()$|_ = j$] }
		if i == n { $[return $(T), "result"$|a, s = $(T), "bare"; return$|break$|continue$|panic("body")$] }
	}
	return $(T), "end"
}`, `
func() {
	defer caught(1)
	for i := range 3 { a, s := $@f(i); show(i, a); show(i, s) }
}()`},
}
