package display

import "github.com/alecthomas/chroma/v2"

// irLexer splits the compiler's text form:
//
//	graph mlp(%x: f32[8,16], %w: f32[16,4]) {                # mlp.fs:1
//	  %h: f32[8,4] = matmul %x, %w {epilogue="none"}         # 2:7
//	  %y: f32[8,4] = relu %h @ "mlp.fs":2:7
//	  return %y
//	}
var irLexer = chroma.MustNewLexer(&chroma.Config{Name: "Forge IR", Aliases: []string{"ir"}}, func() chroma.Rules {
	return chroma.Rules{
		"root": {
			{Pattern: `\s+`, Type: chroma.TextWhitespace},
			{Pattern: `#[^\n]*`, Type: chroma.CommentSingle},
			{Pattern: `@\s*"(\\.|[^"\\\n])*"(:\d+)*`, Type: chroma.Comment},
			{Pattern: `"(\\.|[^"\\\n])*"`, Type: chroma.LiteralString},
			{Pattern: `%[\w.$-]+`, Type: chroma.NameVariable},
			{Pattern: `@[\w.]+`, Type: chroma.NameConstant},
			{Pattern: `\b(bf16|[fiu](8|16|32|64)|bool)\b`, Type: chroma.KeywordType},
			{Pattern: `\b(graph|return|data|true|false)\b`, Type: chroma.Keyword},
			{Pattern: `[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+](inf|nan)\b`, Type: chroma.LiteralNumber},
			{Pattern: `(\w+)(\s*)(=)(?=[^=])`, Type: chroma.ByGroups(chroma.NameAttribute, chroma.TextWhitespace, chroma.Operator)},
			{Pattern: `[A-Za-z_][\w.]*`, Type: chroma.NameFunction},
			{Pattern: `[=(){}\[\],:<>-]`, Type: chroma.Punctuation},
			{Pattern: `.`, Type: chroma.Text},
		},
	}
})
