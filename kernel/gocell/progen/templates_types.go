package progen

// declared are the sections on constants, declarations and scopes.
var declared = []template{
	{"", `
const (
	$ka $N = iota + 1
	_
	$kb
	$kc, $kd = iota * 1.5, "s"
	$ke, $kf
)
show($#, $ka); show(1, $kb); show(2, $kc); show(3, $kd); show(4, $ke); show(5, $kf)`},
	{"", `
const $big = 1<<100 + $#
const $rune, $third = 'a' + 1, 1.0 / 3
show(1, $big >> 97); show(2, $rune); show(3, $third * 3 == 1); show(4, 'x' * 2.0); show(5, "abc"[$#%3])
show(6, len("héllo") + len([$#]int{})); show(7, uint64(1<<64 - 1)); show(8, $big / 1e30); show(9, -5 % 3 << 2)
show(10, 1 << 3.0); show(11, real(3 + 4i) * 2); show(12, ^$N(0)); show(13, 0x1p-2 + 0b11 + 0o17 + 1_000)
show(14, '\x41' + '\u00e9' - '\'')
show(15, "\u65e5\x00\t\"" + ` + "`a\\n`" + `)`},
	{`
var $@a = $@b + len($@f())
var $@b, $@c = $@g()
var _ = func() int { $@d = append($@d, 9); return 0 }()
var $@d = []int{$#}
var $@e = map[string]func() int{"x": func() int { return $@b }}
func $@f() []int { return append($@d, $@c, $@h.n) }
func $@g() (int, int) { $@n++; return $@n, $# }
var $@n int
var $@h = struct{ n int; t $T }{n: $@i}
const $@i = len("four") + $#
func init() { $@d = append($@d, $@a) }
func init() { $@d = append($@d, $@b) }`, `
show(1, $@a); show(2, $@b); show(3, $@c); show(4, $@d); show(5, $@e["x"]()); show(6, $@n)`},
	{"", `
{
	x := $(T)
	{
		x := []any{x, $(U)}
		if x := len(x); x > $# {
			show(1, x)
		} else if y := x * 2; y > 2 {
			show(2, y + x)
		}
		show(3, x)
		for x := x[0]; ; {
			show(4, x)
			break
		}
	}
	func(x any) { show(5, x) }(x)
	len, true, nil := func(s string) int { return 7 }, false, "nil"
	type int = string
	var string int = "int"
	show(6, len(string)); show(7, true); show(8, nil + string)
}`},
	{"", `
type $a struct { v $T }
var $x any = $a{$(T)}
{
	type $a struct { v $T }
	show(1, $x == any($a{})); show(2, $a{v: $(T)})
	_, ok := $x.($a)
	show(3, ok)
}
func() {
	type $b = []$a
	type $c $b
	show(4, $c($b{$x.($a), {}}))
	type $d[E any] struct { e E; next *$d[E] }
	show(5, $d[$a]{}.e)
	detail(6, $d[$T]{e: $(T)})
}()`},
	{`
type $@a[P any] = map[string][]P
type $@b[P comparable, Q any] struct { P P; Q Q }
type $@c[P comparable] = $@b[P, *P]
type $@d = $@c[$K]
func (b $@b[P, Q]) Get() (P, Q) { return b.P, b.Q }`, `
$a := $@a[$T]{"k": {$(T)}}
show($#, $a); show(1, len($@a[int](nil)))
$k := $(K)
$d := $@d{$k, &$k}
$p, $q := $d.Get()
show(2, *$q); show(3, $p)
fmt.Printf("%T\n", $d)`},
	{"", `
var $a, $b = $!(T), $(U)
var (
	$c, $d $N
	$e     = []any{$a, $b, $c}
)
$a, $f := $(T), $b
$d, _ = $c + 1, $f
show(1, $a); show(2, $e); show(3, $d); show(4, $f)`},
}

// typed is the section on types: what they hold, embed and promise.
var typed = []template{
	{`
type $@base struct { n int; T $T }
func (b $@base) Get() int { return b.n }
func (b *$@base) Set(n int) { b.n = n }
func (b $@base) Both() string { return fmt.Sprint("base ", b.n) }
type $@mid struct { *$@base; s string }
func (m $@mid) Both() string { return "mid " + m.s + " " + m.$@base.Both() }
type $@top struct { $@mid; fmt.Stringer; k $K }
type $@str $N
func (s $@str) String() string { return fmt.Sprintf("<%d>", $N(s)) }`, `
$x := $@top{$@mid{&$@base{n: $#, T: $(T)}, "s"}, $@str($(N)), $(K)}
$x.Set($x.Get() + 1)
show(1, $x.n); show(2, $x.T); show(3, $x.Both()); show(4, $x.String()); show(5, $x.$@mid.$@base.Get())
$y := $x
$y.n++
var $i interface { Get() int; Set(int); fmt.Stringer } = $x
$i.Set(40)
show(6, $y.Get()); show(7, $i.String())
fmt.Printf("%v %s\n", $x, $y)
$g, $h := $x.Get, (*$@top).Set
$h(&$x, 5)
show(8, $g()); show(9, $y.n); show(10, $@top.Get($x)); show(11, $@mid.Both($x.$@mid))
func() {
	defer caught(12)
	$x.Stringer = nil
	$x.$@base = $[nil$|&$@base{}$]
	show(13, $x.Get())
	show(14, $x.String())
}()`},
	{`
type $@x interface { A() int; b($T) $T }
type $@y interface { $@x; C(...$K) string }
type $@z struct { f $T }
func (z *$@z) A() int { return $# }
func (z *$@z) b(t $T) $T { t, z.f = z.f, t; return t }
func (z $@z) C(k ...$K) string { return fmt.Sprint(len(k), k) }`, `
var $y $@y = &$@z{$(T)}
var $x $@x = $y
show(1, $x.b($(T))); show(2, $x.b($(T))); show(3, $y.C($(K), $(K)))
_, $ok := $x.(interface { D() })
_, $ko := any(*$x.(*$@z)).($@x)
show(4, $ok); show(5, $ko); show(6, $x.(interface { C(...$K) string }).C())
$f, $g := $@x.A, $@y.b
show(7, $f($y)); show(8, $g($y, $(T)))
show(9, $x == $@x($y))`},
	{"", `
type $s struct { _ int; a $K; _ [2]string; b any }
$x, $y := $s{a: $(K)}, $s{a: $(K), b: $(K)}
$x.b = $(K)
show(1, $x == $y)
$y.a, $y.b = $x.a, $x.b
show(2, $x == $y); show(3, [2]$s{$x} == [2]$s{$y})
$m := map[$s]int{$x: 1}
$m[$y]++
show(4, len($m)); show(5, $m[$x])
func() {
	defer caught(6)
	$x.b, $y.b = []int{1}, []int{1}
	show(7, $x == $y)
}()`},
	{"", `
$k := map[any]string{nil: "nil", $(K): "key"}
$k[struct { a $K; b any }{$(K), $#}] += "struct"
$k[[2]$K{$(K)}] += "array"
$k[struct { a $K; b any }{$(K), $#}] += "again"
$k[1], $k[1.0], $k[int8(1)], $k["1"], $k[1i] = "int", "float", "int8", "string", "complex"
show($#, len($k)); show(1, $k[1]); show(2, $k[int8(1)]); show(3, $k[int16(1)]); show(4, $k[1i]); show(5, $k[[2]$K{$(K)}])
delete($k, any($(K)))
_, $ok := $k[nil]
show(6, $ok); show(7, len($k))`},
	{"", `
$n, $m := math.NaN(), map[float64]int{0: 1}
$m[$n], $m[-$n] = 2, 3
$m[math.Copysign(0, -1)]++
delete($m, $n)
_, $ok := $m[$n]
show(1, len($m)); show(2, $m[0]); show(3, $ok)
$a := map[[1]$F]int{{}: 1, {$F($n)}: 2}
show(4, len($a)); show(5, $n != $n); show(6, min($F(1), $F($n))); show(7, 1 / math.Copysign(0, -1))
clear($m)
show(8, len($m))`},
	{"", `
$c := make(chan chan<- $T, 1)
$d := make(chan $T, 2)
$c <- $d
(<-$c) <- $(T)
var $r <-chan $T = $d
var $s chan<- $T = $d
$s <- $(T)
show(1, len($r)); show(2, cap($s)); show(3, <-$r)
close($s)
for v := range $r { show(4, v) }
$v, $ok := <-$r
show(5, $v); show(6, $ok); show(7, $d == (chan $T)($d))
fmt.Printf("%T %T %T\n", $c, $r, $s)`},
	{"", `
type $tree struct { l, r *$tree; v $T; up map[string]*$tree }
var $grow func(n int) *$tree
$grow = func(n int) *$tree {
	if n == 0 { return nil }
	t := &$tree{l: $grow(n-1), v: $(T), up: map[string]*$tree{}}
	t.up["self"], t.r = t, $grow(n-2+n%2)
	return t
}
var $walk func(t *$tree, depth int) int
$walk = func(t *$tree, depth int) int {
	if t == nil || t.up["self"] != t { return 0 }
	return 1 + $walk(t.l, depth+1) + $walk(t.r, depth+1)
}
show($#, $walk($grow($#), 0))`},
	{"", `
$a := [...]$T{3: $(T), 1: $(T)}
$b := []*[2]$T{{$(T)}, {1: $(T)}, nil}
$c := map[[2]bool][]struct { n int; t $T }{{true}: {{1, $(T)}, {t: $(T)}}, {}: nil}
show(len($a), $a); show(1, *$b[0]); show(2, *$b[1]); show(3, $c); show(4, $b[2] == nil)
$p := &$a
for i := range $p { $p[i] = $b[i&1][i>>1&1] }
show(5, $a); show(6, len($p)); show(7, cap($p[1:3])); show(8, $p[2:])`},
	{"", `
type $s struct { a bool; b $N; c $T; d [3]int16; e string; f *int; g complex64; h []byte; i any; j struct{} }
var $x $s
show(1, unsafe.Sizeof($x)); show(2, unsafe.Alignof($x.c)); show(3, unsafe.Offsetof($x.e)); show(4, unsafe.Sizeof(struct { a $T; b bool }{}))
$y := &[]byte("bytes")[0]
show(5, unsafe.String($y, $#)); show(6, unsafe.Slice($y, 2))
$z := [2]$N{$(N), $(N)}
show(7, *(*$N)(unsafe.Add(unsafe.Pointer(&$z), unsafe.Sizeof($z[0]))) == $z[1])
show(8, *(*uint64)(unsafe.Pointer(&[]float64{$(float64)}[0])))`},
}
