package gocell

import (
	"strings"
	"testing"
)

// TestInterpretedPackages runs the packages of the binary that cells interpret
// from source. What they give is what the compiled packages give.
func TestInterpretedPackages(t *testing.T) {
	for _, c := range []struct{ name, cell, want string }{
		{"brewer", `import "gonum.org/v1/plot/palette/brewer"
p, err := brewer.GetPalette(brewer.TypeSequential, "Blues", 3)
fmt.Sprint(p.Colors(), err)`, "[{67 {222 235 247 255}} {70 {158 202 225 255}} {73 {49 130 189 255}}] <nil>"},
		{"moreland", `import "gonum.org/v1/plot/palette/moreland"
m := moreland.SmoothBlueRed()
m.SetMax(1)
c, err := m.At(0.25)
fmt.Sprint(c, err, len(m.Palette(5).Colors()))`, "{0.5529838715494968 0.6889344142869273 0.9953024835844247 1} <nil> 5"},
		{"elf", `import "debug/elf"
exe, _ := os.Executable()
f, err := elf.Open(exe)
if err != nil { panic(err) }
fmt.Sprint(f.Class, f.Machine == elf.EM_X86_64 || f.Machine == elf.EM_AARCH64, f.Section(".text").Type)`, "ELFCLASS64 true SHT_PROGBITS"},
		{"buildinfo", `import "debug/buildinfo"
exe, _ := os.Executable()
b, err := buildinfo.ReadFile(exe)
if err != nil { panic(err) }
b.GoVersion == runtime.Version()`, "true"},
		{"dwarf", `import "debug/dwarf"
fmt.Sprint(dwarf.AttrName, dwarf.TagFormalParameter)`, "Name FormalParameter"},
		{"macho", `import "debug/macho"
_, err := macho.NewFile(bytes.NewReader([]byte("no such thing")))
fmt.Sprint(err, macho.CpuArm64)`, "invalid magic number in record at byte 0x0 CpuArm64"},
		{"pe", `import "debug/pe"
_, err := pe.NewFile(bytes.NewReader(make([]byte, 200)))
fmt.Sprint(err, pe.IMAGE_FILE_MACHINE_AMD64)`, "<nil> 34404"},
		{"plan9obj", `import "debug/plan9obj"
_, err := plan9obj.NewFile(bytes.NewReader(make([]byte, 200)))
fmt.Sprint(err)`, "bad magic number '[0 0 0 0]' in record at byte 0x0"},
		{"format", `import "go/format"
text, err := format.Source([]byte("package p\nfunc  f( ) { x:=[]int{1,2 ,3}\n// why\n_=x }"))
fmt.Sprint(string(text), err)`, "package p\n\nfunc f() {\n\tx := []int{1, 2, 3}\n\t// why\n\t_ = x\n}\n<nil>"},
		{"doc", `import ("go/doc"; "go/parser"; "go/token"; "go/ast")
fset := token.NewFileSet()
f, err := parser.ParseFile(fset, "p.go", "// Package p is small. It does nothing.\npackage p\n// F is [G].\n//\n//  - one\n//  - two\nfunc F() {}\nfunc G() {}", parser.ParseComments)
if err != nil { panic(err) }
p, err := doc.NewFromFiles(fset, []*ast.File{f}, "example.com/p")
if err != nil { panic(err) }
fmt.Sprint(p.Synopsis(p.Doc), len(p.Funcs), string(p.Markdown(p.Funcs[0].Doc)))`, "Package p is small.2F is [G](#G).\n\n  - one\n  - two\n"},
		{"suffixarray", `import "index/suffixarray"
x := suffixarray.New([]byte("banana"))
at := x.Lookup([]byte("an"), -1)
sort.Ints(at)
var kept bytes.Buffer
err := x.Write(&kept)
fmt.Sprint(at, x.FindAllIndex(regexp.MustCompile("na"), -1), err, kept.Len() > 0)`, "[1 3] [[2 4] [4 6]] <nil> true"},
		{"cookiejar", `import ("net/http"; "net/http/cookiejar"; "net/http/httptest")
server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie("seen"); err == nil { fmt.Fprint(w, "again ", c.Value); return }
	http.SetCookie(w, &http.Cookie{Name: "seen", Value: "yes"})
	fmt.Fprint(w, "first")
}))
defer server.Close()
jar, err := cookiejar.New(nil)
if err != nil { panic(err) }
client := http.Client{Jar: jar}
var said []string
for range 2 {
	r, err := client.Get(server.URL)
	if err != nil { panic(err) }
	text, _ := io.ReadAll(r.Body)
	r.Body.Close()
	said = append(said, string(text))
}
strings.Join(said, ", ")`, "first, again yes"},
		{"fcgi", `import ("net"; "net/http"; "net/http/fcgi")
l, err := net.Listen("tcp", "127.0.0.1:0")
if err != nil { panic(err) }
ended := make(chan error)
go func() { ended <- fcgi.Serve(l, http.NotFoundHandler()) }()
l.Close()
errors.Is(<-ended, net.ErrClosed)`, "true"},
		{"mail", `import "net/mail"
m, err := mail.ReadMessage(strings.NewReader("From: =?utf-8?q?J=C3=B6rg?= <j@example.com>\nDate: Mon, 02 Jan 2006 15:04:05 -0700\n\nhello"))
if err != nil { panic(err) }
from, err := m.Header.AddressList("From")
date, _ := m.Header.Date()
fmt.Sprint(from[0].Name, from[0].Address, err, date.Unix())`, "Jörgj@example.com<nil> 1136239445"},
		{"smtp", `import "net/smtp"
proto, answer, err := smtp.PlainAuth("", "me", "secret", "localhost").Start(&smtp.ServerInfo{Name: "localhost", TLS: true})
fmt.Sprintf("%s %q %v", proto, answer, err)`, "PLAIN \"\\x00me\\x00secret\" <nil>"},
		{"rpc", `import ("net"; "net/rpc"; "net/rpc/jsonrpc")
type Args struct{ A, B int }
type Arith int
func (Arith) Multiply(args *Args, reply *int) error { *reply = args.A * args.B; return nil }
server := rpc.NewServer()
if err := server.Register(new(Arith)); err != nil { panic(err) }
one, two := net.Pipe()
go server.ServeConn(one)
three, four := net.Pipe()
go server.ServeCodec(jsonrpc.NewServerCodec(three))
var a, b int
err := rpc.NewClient(two).Call("Arith.Multiply", &Args{6, 7}, &a)
err2 := jsonrpc.NewClient(four).Call("Arith.Multiply", &Args{3, 4}, &b)
fmt.Sprint(a, err, b, err2)`, "42 <nil> 12 <nil>"},
		{"fstest", `import ("testing/fstest"; "testing/iotest"; "io")
files := fstest.MapFS{"a/b.txt": {Data: []byte("text")}}
err := fstest.TestFS(files, "a/b.txt")
_, err2 := io.ReadAll(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("text"))))
fmt.Sprint(err, err2)`, "<nil> timeout"},
		{"slogtest", `import ("testing/slogtest"; "log/slog")
var out bytes.Buffer
err := slogtest.TestHandler(slog.NewJSONHandler(&out, nil), func() []map[string]any {
	var all []map[string]any
	for _, line := range bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n")) {
		m := map[string]any{}
		if err := json.Unmarshal(line, &m); err != nil { panic(err) }
		all = append(all, m)
	}
	return all
})
fmt.Sprint(err)`, "<nil>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := newTestSession(t, Options{})
			if got := mustRun(t, s, c.cell); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestInterpretedPackageIsOneOfMany checks that what is interpreted differs from
// compiled packages in nothing but that.
func TestInterpretedPackageIsOneOfMany(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	const cell = "import \"net/mail\"\nmail.ParseAddress"
	if got, ok := s.Inspect(cell, len(cell), 0); !ok || !strings.HasPrefix(got.Signature, "func mail.ParseAddress(address string)") || !strings.Contains(got.Doc, "parses a single RFC 5322 address") {
		t.Errorf("inspection says %+v", got)
	}
	const begun = "import \"net/mail\"\nmail.ParseAddr"
	if got := s.Complete(begun, len(begun)); len(got.Candidates) != 2 {
		t.Errorf("completions are %v", got.Candidates)
	}
	if got := mustRun(t, s, "import \"net/mail\"\n_, err := mail.ParseAddress(\"nobody\")\nfmt.Sprintf(\"%v %T\", err, mail.Address{})"); got != "mail: missing '@' or angle-addr mail.Address" {
		t.Errorf("a cell shows %s", got)
	}
	mustRun(t, s, "import \"debug/plan9obj\"\nplan9obj.Magic386")
	if _, err := s.Run(t.Context(), Cell{Source: "import \"internal/saferio\""}); err == nil || !strings.Contains(err.Error(), "internal/saferio is not available") {
		t.Errorf("what hides behind interpreted packages: %v", err)
	}
}
