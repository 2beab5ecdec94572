package syntax

// Expr is an expression. Every node has the place where it begins.
type Expr interface{ At() Pos }

// Name is an identifier, with its template arguments if it has any: a
// variable, a type, or an enumerant.
type Name struct {
	Pos      Pos
	Text     string
	Template []Expr
	// Templated says that a template list was written.
	Templated bool
}

// Literal is a number or a truth value as written.
type Literal struct {
	Pos  Pos
	Kind Kind // Integer, Float, or Keyword for true and false
	Text string
}

// Unary is an operator and its operand: - ! ~ & *.
type Unary struct {
	Pos Pos
	Op  string
	X   Expr
}

// Binary is an operator between two operands.
type Binary struct {
	Pos  Pos // of the operator
	Op   string
	X, Y Expr
}

// Index is X[I].
type Index struct {
	Pos  Pos // of the bracket
	X, I Expr
}

// Member is X.Name: a field or a swizzle.
type Member struct {
	Pos  Pos // of the name
	X    Expr
	Name string
}

// Call is a call or a construction.
type Call struct {
	Fn   *Name
	Args []Expr
}

func (e *Name) At() Pos    { return e.Pos }
func (e *Literal) At() Pos { return e.Pos }
func (e *Unary) At() Pos   { return e.Pos }
func (e *Binary) At() Pos  { return e.X.At() }
func (e *Index) At() Pos   { return e.X.At() }
func (e *Member) At() Pos  { return e.X.At() }
func (e *Call) At() Pos    { return e.Fn.Pos }

// Attribute is @Name or @Name(Args).
type Attribute struct {
	Pos  Pos
	Name string
	Args []Expr
}

// Stmt is a statement.
type Stmt interface{ At() Pos }

// Block is a sequence of statements between braces.
type Block struct {
	Pos   Pos
	Stmts []Stmt
	End   Pos // of the closing brace
}

// VarDecl declares var, let, const or override, in a function or a module.
type VarDecl struct {
	Pos        Pos
	Keyword    string
	Template   []Expr // address space and access mode of a var
	NamePos    Pos
	Name       string
	Type       Expr // nil where it is inferred
	Init       Expr // nil where there is none
	Attributes []Attribute
}

// Assign is "Left Op Right"; Left is nil for the phony assignment "_ =". Op is
// "=" or the operator of a compound assignment without its "=".
type Assign struct {
	Pos   Pos
	Left  Expr
	Op    string
	Right Expr
	// Step marks X++ and X--, whose operand has to be an integer.
	Step bool
}

// If is a condition and its branches; Else is nil, a *Block or an *If.
type If struct {
	Pos  Pos
	Cond Expr
	Then *Block
	Else Stmt
}

// Case is one clause of a switch; a nil selector is "default".
type Case struct {
	Pos       Pos
	Selectors []Expr
	Body      *Block
}

// Switch chooses a clause.
type Switch struct {
	Pos   Pos
	X     Expr
	Cases []Case
}

// Loop is loop, while or for: Init and Update are nil except in for, Cond in
// loop; Continuing and BreakIf are of loop alone.
type Loop struct {
	Pos        Pos
	Keyword    string
	Init       Stmt
	Cond       Expr
	Update     Stmt
	Body       *Block
	Continuing *Block
	BreakIf    Expr
}

// Jump is break, continue or discard.
type Jump struct {
	Pos     Pos
	Keyword string
}

// Return leaves a function; X is nil where there is no value.
type Return struct {
	Pos Pos
	X   Expr
}

// CallStmt is a call for its effect.
type CallStmt struct{ Call *Call }

// ConstAssert is const_assert X.
type ConstAssert struct {
	Pos Pos
	X   Expr
}

func (s *Block) At() Pos       { return s.Pos }
func (s *VarDecl) At() Pos     { return s.Pos }
func (s *Assign) At() Pos      { return s.Pos }
func (s *If) At() Pos          { return s.Pos }
func (s *Switch) At() Pos      { return s.Pos }
func (s *Loop) At() Pos        { return s.Pos }
func (s *Jump) At() Pos        { return s.Pos }
func (s *Return) At() Pos      { return s.Pos }
func (s *CallStmt) At() Pos    { return s.Call.At() }
func (s *ConstAssert) At() Pos { return s.Pos }

// Param is a parameter of a function or a member of a structure.
type Param struct {
	Pos        Pos
	Name       string
	Type       Expr
	Attributes []Attribute
}

// Function is fn.
type Function struct {
	Pos        Pos
	NamePos    Pos
	Name       string
	Params     []Param
	Result     Expr // nil where there is none
	Body       *Block
	Attributes []Attribute
	// ResultAttributes are those before the result's type.
	ResultAttributes []Attribute
}

// Struct is a structure's declaration.
type Struct struct {
	Pos     Pos
	NamePos Pos
	Name    string
	Members []Param
}

// Alias is alias Name = Type.
type Alias struct {
	Pos     Pos
	NamePos Pos
	Name    string
	Type    Expr
}

// Directive is enable, requires or diagnostic, with its words and their places.
type Directive struct {
	Pos     Pos
	Keyword string
	Words   []Token
}

// Module is a whole text. Decls holds *VarDecl, *Function, *Struct, *Alias and
// *ConstAssert in their order.
type Module struct {
	Directives []Directive
	Decls      []Stmt
}

func (s *Function) At() Pos { return s.Pos }
func (s *Struct) At() Pos   { return s.Pos }
func (s *Alias) At() Pos    { return s.Pos }
