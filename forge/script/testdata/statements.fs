import numpy as np   ### 1-7 "no imports; every function that it knows is built in"

def f(x):
    return x
---
from torch import nn   ### 1-5 "no imports"
---
def f(x):
    import math        ### 5-11 "no imports"
    return x
---
def f(x):
    if x:              ### 5-7 "no if; shapes are static"
        y = 1
    else:              ### 5-9 "no if"
        y = 2
    return x
---
def f(x):
    for i in x:        ### 5-8 "no loops; write out the steps"
        y = i
        z = y
    return x
---
def f(x):
    while True:        ### 5-10 "no loops"
        pass
    return x
---
def f(x):
    with x as y:       ### 5-9 "no with"
        pass
    try:               ### 5-8 "no exceptions"
        pass
    except x:          ### 5-11 "no exceptions"
        pass
    return x
---
class A:               ### 1-6 "no classes"
    x = 1
---
def f(x):
    def g(y):          ### 5-8 "functions do not nest; start def in the first column"
        return y
    return x
---
    def f(x):          ### 5-8 "this function is indented"
        return x
---
@jit                   ### 1-2 "no decorators; delete it"
def f(x):
    return x
---
x = 1                  ### 1-2 "outside a function; write it in the body of a def"
---
def f(x):
    return x

f(y)                   ### 1-2 "outside a function; .*call them in a Go cell of its own"
---
return 1               ### 1-7 "this return is outside a function"
---
"text"                 ### 1-7 "documents nothing; write a comment"
def f(x):
    return x
---
def f(x):
    y = x
    y += 1             ### 7-9 "updated in place; write y = x"
    return y
---
def f(x):
    x[0] = 1           ### 6-7 "no subscripts; reduce it"
    return x
---
def f(x):
    x.y = 1            ### 7-8 "no attribute \"y\""
    return x
---
def f(x):
    a, b = x           ### 12-13 "this is one tensor, and 2 names are assigned; write a line for each"
    return x
---
def f(x):
    a = b = x          ### 11-12 "one line has one equals sign"
    return a
---
def f(x):
    a = x, x           ### 10-11 "a name holds one tensor"
    return a
---
def f(x):
    y: f32[8] = x      ### 6-7 "only parameters and results are annotated"
    return y
---
def f(x):
    (x) = relu(x)      ### 5-8 "only a name can be assigned"
    return x
---
def f(x):
    x + 1 = x          ### 5-10 "only a name can be assigned"
    return x
---
def f(x):
    x + 1              ### 5-10 "the value of this expression is not used"
    return x
---
def f(x):
    print(x)           ### 5-13 "ForgeScript prints nothing"
    return x
---
def f(x):
    del x              ### 5-8 "no del"
    return x
---
def f(x):
    global y           ### 5-11 "sees only its parameters"
    assert x           ### 5-11 "no assert"
    raise x            ### 5-10 "no exceptions"
    yield x            ### 5-10 "no generators"
    pass               ### 5-9 "no pass"
    nonlocal z         ### 5-13 "sees only its parameters"
    async x            ### 5-10 "no async"
    await x            ### 5-10 "no async"
    return x
---
def f(x):
    match x:           ### 5-10 "no match"
        y = 1
    return x
---
def f(x):
    return x
    y = x              ### 5-6 "can never run"
    return y
---
def f(x):              ### 5-6 "function f returns nothing; end its body with return"
    y = x
---
def f(x):              ### 5-6 "function f returns nothing"
---
def f(x):
    return             ### 5-11 "this return has no value"
---
def f(x):
    return x,          ### 13-14 "a tuple of one tensor; remove it"
---
def f(x):
    return x, (x, x)   ### 17-18 "a tuple is not a tensor; write one expression"
---
def f(x):
    a, b = x, x        ### 13-14 "come from one call; write a line for each value"
    return a
---
def f(x):
    x.y, b = x         ### 7-8 "no attribute"
    return b
---
def f(x):
    return x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x   ### 60-61 "more than 16 results"
---
def f(x):
    y = x
      z = y            ### 7-8 "indented deeper"
    return z
---
def f(x):
    y = x
  return y             ### 3-9 "indented less"
---
def f(x):
    y = x; return y    ### 10-11 "semicolon does not separate"
---
def f(x): y = x        ### 11-12 "a function on one line has only a return"
---
def f(x)               ### 9-10 "found the end of the line where \":\" belongs"
    return x
---
def (x):               ### 5-6 "found \"\\(\" where the function's name belongs"
    return x
---
def f:                 ### 6-7 "found \":\" where \"\\(\" belongs"
    return x
---
def f(x, 2):           ### 10-11 "found \"2\" where a parameter belongs"
    return x
---
def f(x y):            ### 9-10 "found \"y\" where \"\\)\" belongs; separate parameters by commas"
    return x
---
def f(x=1):            ### 8-9 "no default value"
    return x
---
def f(*x):             ### 7-8 "fixed number of tensors"
    return x
---
def f(x, **y):         ### 10-12 "fixed number of tensors"
    return x
---
def f(for):            ### 7-10 "\"for\" is a word of the language"
    return x
---
def lambda(x):         ### 5-11 "\"lambda\" is a word of the language"
    return x
---
def f(x):
    True = x           ### 5-9 "\"True\" is a word of the language"
    return x
---
def f(x: float):       ### 10-15 "not a type of ForgeScript; tensors are float32"
    return x
---
def f(x: f64[2]):      ### 10-13 "tensors are float32: write f32"
    return x
---
def f(x: f32[n]):      ### 14-15 "found \"n\" where a dimension belongs; shapes are static"
    return x
---
def f(x: f32[0]):      ### 14-15 "0 is not a dimension"
    return x
---
def f(x: f32[-1]):     ### 14-15 "where a dimension belongs"
    return x
---
def f(x: f32[2.5]):    ### 14-17 "2.5 is not a dimension"
    return x
---
def f(x: f32[999999999]): ### 14-23 "too large"
    return x
---
def f(x: f32[99999999999999999999]): ### 14-34 "not a dimension"
    return x
---
def f(x: f32[1,1,1,1,1,1,1,1,1]):    ### 10-32 "9 dimensions; a tensor has at most 8"
    return x
---
def f(x: f32[2):       ### 15-16 "\"\\)\" does not match \"\\[\""
    return x
---
def f(x):
    y = x
    """late"""         ### 5-15 "only as the first line"
    return y
---
def f(x):
    "doc" + x          ### 5-10 "a string is not a tensor"
    return x
---
def f(x):
    f"{x}"             ### 5-11 "no f strings"
    return x
---
def f(x):
    y = x match            ### 11-16 "found \"match\" after the end of the statement"
    eturn match            ### 5-10 "\"eturn\" starts no statement; did you mean return\\?"
    return y
---
dfe f(x):              ### 1-4 "\"dfe\" starts no definition; did you mean def\\?"
    return x
