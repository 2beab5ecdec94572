package progen

// expressions is the section on expressions: operands, operators, calls and
// their order.
var expressions = []template{
	{`
func $@two(n int) (int, $T) { show(n, "two"); return n, $(T) }
func $@any(head string, rest ...any) int { show(len(rest), head); for i, r := range rest { show(i, r) }; return len(rest) }
func $@three() (string, any, any) { return "three", $(T), $# }`, `
show($@two($#))
show(1, $@any("none")); show(2, $@any("some", $(T), nil)); show(3, $@any($@three())); show(4, $@any("list", []any{$(T)}...)); show(5, $@any("nil", []any(nil)...))
$i, $t := $@two(3)
_, $t = $@two($i)
show(6, $t); show(7, func(n int, _ $T) int { return n }($@two(4)))`},
	{"", `
$i, $a := 0, [4]$T{}
$i, $a[$i] = 2, $(T)
$a[$i], $i = $(T), 1
$a[$i], $a[$i+1], $i = $a[$i+1], $a[$i], 3
show($i, $a)
$s := []int{1, 2, 3}
for $i, $s[$i&1] = range []int{7, 8, 9} { show($i, $s) }
$p := &$s
(*$p)[0], $p = 5, nil
show($#, $s)
$s, $s[0] = []int{4}, 6
show(1, $s)`},
	{"", `
$f := func(n int) int { show(n, "f"); return n }
$g := func(n int) []int { show(n, "g"); return []int{1, 2, 3, 4, n} }
$m := map[int]int{}
$m[$f(1)] += $f(2) * $f(3) + $g($f(4))[$f(0)]
$g(5)[$f(1)], $m[$f(2)] = $f(6), $f(7)
show(1, $m); show(2, $g(6)[$f(1) : $f(2)+$# : $f(5)])
show(3, struct { a, b int }{b: $f(1), a: $f(2)}); show(4, map[int]int{$f(1): $f(2), $f(3): $f(4)})
show(5, $f(1) > $# && $f(2) > 1 || $f(3) == 3); show(6, []any{$f(1), $g(2)[$f(3)], func() int { return $f(5) }()})
$c := make(chan int, 2)
$c <- $f(8); $c <- $f(9)
show(7, $f(<-$c) - $f(2) - <-$c)
func() (int, int) { return $f(1), $f(2) }()`},
	{"", `
var $a, $b complex128 = $(complex128), complex(float64($#), 1)
$c := complex64($a)
show(1, $a * $b); show(2, $a / $b); show(3, $c * 2i); show(4, real($a) + imag($b)); show(5, $a == $b); show(6, -$c); show(7, $c / complex64($b))
$a *= $b
$a -= 1
show(8, $a); fmt.Printf("%.2f %8.1f %g\n", $a, $b, $c)`},
	{"", `
$a, $b := $(N), $(N)
var $s uint8 = 1 << $# + $#
show(1, $a << $s); show(2, $a >> $s); show(3, $a << 70); show(4, $a >> 63 >> 1); show(5, $N(1) << $s)
var $c $N = 1 << $s
var $d = uint64(1<<$s) + 1<<$s
var $e int16 = -1 << $s >> 3
show(6, $c); show(7, $d); show(8, $e); show(9, $a &^ $b ^ $a | $b & 5); show(10, -$a - ^$b); show(11, $a * $a * $b)
$a <<= $s; $b >>= 1; $a &^= $b; $b %= 7; $a ^= 3; $a |= 8; $b /= 3
show(12, $a); show(13, $b); show(14, $a > $b); show(15, +$a)
func() { defer caught(16); n := $[-1$|$#$]; show(17, $a << n) }()`},
	{"", `
$x, $y := float32($(F)), $(float64)
show(1, $x / 3 * 3); show(2, float64($x) == $y); show(3, $x * $x + $x); show(4, $y / 0 * float64($#)); show(5, float32($y))
var $z float64 = $[math.Inf(1)$|math.Inf(-1)$|math.NaN()$|0$|$y$]
show(6, $z > $y); show(7, $z != $z); show(8, !($z <= $y)); show(9, max($z, $y)); show(10, min($z, $y, -0.0)); show(11, -$z); show(12, math.Signbit(-$z))
show(13, $F($z) + $F($y)); fmt.Printf("%e %6.2f %g %v\n", $y, $x, $F($z), []$F{$F($z)})`},
	{"", `
$s := $!([]T)
$s = append($s, $(T), $(T), $(T))
$t := $s[:1:2]
$t = append($t, $(T))
show(1, $s); show(2, cap($t)); show(3, len($s[1:1:3]))
$t = append($t, $(T), $(T))
$t[0] = $(T)
show(4, $s); show(5, $t)
$s = append($s[:$#], $s[$#:]...)
show(6, copy($s, $s[1:])); show(7, $s); show(8, append([]$T(nil), $s...)); show(9, append($s[:0:0], $s[:$#]...) == nil)
clear($s[1:2])
show(10, $s); show(11, copy($s[1:], $s)); show(12, $s); show(13, []$T(nil)[:0] == nil)`},
	{`
type $@c struct { n int; t $T }
func (c $@c) Val(d int) (int, $T) { return c.n + d, c.t }
func (c *$@c) Ptr(d int) *$@c { c.n += d; return c }
func $@run(f func(int) (int, $T)) { show(f($#)) }`, `
$c := $@c{$#, $(T)}
$v, $p, $q := $c.Val, $c.Ptr, $[&$c$|new($c)$]
$w := $q.Val
$c.n = 50
show($v(1)); show($w(2)); show(1, $p(3).n); show(2, $c.n); show(3, $q.n)
$@run($c.Val); $@run($@c{7, $(T)}.Val); $@run(func(d int) (int, $T) { return (*$@c).Val($q, d) })
$fs := []func($@c, int) (int, $T){$@c.Val, func(c $@c, d int) (int, $T) { return c.Ptr(d).Val(1) }}
for _, f := range $fs { show(f($c, 2)) }
show((*$@c).Ptr(&$c, 2).Ptr(3).Val(4)); show(4, $c.n)
$m := map[string]*$@c{"a": &$c}
$m["a"].n++
$m["a"].Ptr(1).t = $(T)
show(5, $c)`},
	{"", `
$m := map[string]struct { n int; list []$T }{"a": {1, nil}}
$e := $m["b"]
$e.list = append($e.list, $(T))
$m["b"] = $e
$n := map[string][]$T{}
$n["x"] = append($n["x"], $(T)); $n["x"] = append($n["x"], $(T))
$n["x"][0] = $(T)
$a := map[$K][2]$N{}
show(1, $a[$(K)][1]); show(2, $m); show(3, $n); show(4, len($n["none"]))
$c := map[string]map[string]int{"o": {}}
$c["o"]["i"]++; $c["o"]["i"] <<= 3; $c["o"]["j"] -= $#
$v, $ok := $c["p"]["q"]
show($v, $ok); show(5, $c)`},
	{"", `
$b := new($(T))
$c, $d := new(int), &struct { p *$T; q **$T }{}
*$c++; *$c *= 3
$d.p = $b; $d.q = &$d.p
**$d.q = $(T)
show(*$c, *$b); show(1, *$d.q == $b)
$e := &[]int{1, 2}[1]
*$e, $d.q = 9, nil
show(2, $d.q == nil); show(3, *$e)
$f := &(*$d).p
*$f = nil
show(4, $d.p == nil); show(5, *new($N(5)))`},
	{"", `
var $fib func(int) int
$fib = func(n int) int { if n < 2 { return n }; return $fib(n-1) + $fib(n-2) }
$even, $odd := (func(int) bool)(nil), (func(int) bool)(nil)
$even = func(n int) bool { return n == 0 || $odd(n-1) }
$odd = func(n int) bool { return n != 0 && $even(n-1) }
show($fib(7+$#), $even(10+$#))
$counter := func() (func() int, func()) { n := $#; return func() int { n++; return n }, func() { n *= 2 } }
$next, $double := $counter()
$next(); $double()
show($next(), func(f ...func() int) int { return f[len(f)-1]() }($next, $next))`},
}

// conversions is the section on them.
var conversions = []template{
	{"", `
$s, $n := $(string), $(N)
type $bytes []byte
type $runes []rune
type $name string
show(1, $bytes($s)); show(2, $runes($s)); show(3, $name($bytes($s))); show(4, string($runes($s))); show(5, string(rune($n))); show(6, string($runes{-1, 0x10ffff, 'x', 0xd800}))
$b := append([]byte("p"), $s...)
show(7, copy($b[1:], "xyz")); show(8, string($b)); show(9, len([]rune($s + "\xff"))); show(10, $name("a") + $name($s))
for i, r := range $s + "\xe6\x97" { show(i, r) }
for i, c := range []byte($s) { show(i, c) }
show(11, $s < "b"); show(12, $s + $s == $s); show(13, "x" + string($s[:len($s)/2]))`},
	{"", `
$s := $!([]T)
func() {
	defer caught(1)
	$p := (*[2]$T)($s)
	$a := [2]$T($s)
	$p[1] = $(T)
	show(2, $s); show(3, $a); show(4, len($p))
}()
show(5, (*[0]$T)([]$T(nil)) == nil); show(6, [0]$T([]$T{}))`},
	{"", "type $a struct { X $T `json:\"x\"`; y $N }\n" + `
type $b struct { X $T; y $N }
type $c *$a
type $f func($b) $N
$x := $a{$(T), $(N)}
show(1, $b($x)); show(2, struct { X $T; y $N }($x)); show(3, (*$b)(&$x).y); show(4, $a($b{y: 1})); show(5, $c(&$x).y)
show(6, $f(func(v $b) $N { return v.y * 2 })($b($x))); show(7, any($x) == any($b($x)))
var $u struct { X $T; y $N } = $b($x)
$x = struct { X $T ` + "`json:\"x\"`" + `; y $N }($u)
show(8, $x)`},
	{"", `
$x := $(N)
show(1, int8($x)); show(2, uint16($x)); show(3, int64($x)); show(4, float32($x)); show(5, uint8(int8($x))); show(6, uintptr(uint8($x))); show(7, rune($x)); show(8, float64(uint64($x)))
$y := $(F)
show(9, float32($y)); show(10, float64(float32($y))); show(11, int8(whole(float64($y)))); show(12, complex(float64($y), 0))
type $n $N
type $m $n
show(13, $m($n($x)) + $m($x)); show(14, $N($m(3)) << 1); show(15, any($n(1)) == any($m(1))); show(16, any($N(1)) == any($N(1)))`},
	{`
type $@e struct { code int }
func (e *$@e) Error() string { if e == nil { return "nil e" }; return fmt.Sprint("e", e.code) }
func $@may(n int) error { var e *$@e; if n > 1 { e = &$@e{n} }; if n == 0 { return nil }; return e }`, `
for i := range 3 {
	err := $@may(i)
	e, ok := err.(*$@e)
	show(i, err == nil); show(1, ok); show(2, e == nil); show(3, fmt.Sprint(err))
	if err != nil { show(4, err.Error()) }
}
var $a, $b any = (*int)(nil), nil
show(5, $a == nil); show(6, $b == nil); show(7, $a == (*int)(nil)); show(8, $a == any((*$T)(nil))); show(9, any($(T)) != nil)`},
}
