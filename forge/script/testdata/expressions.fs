def f(x):
    return x ** 2      ### 14-16 "no power operator; write x \\* x"
---
def f(x):
    return x // 2      ### 14-16 "no floor division; write / for division"
---
def f(x):
    return x % 2       ### 14-15 "no remainder"
---
def f(x):
    return x > 2       ### 14-15 "no comparisons; shapes are static"
---
def f(x):
    a = x == 1         ### 11-13 "no comparisons"
    b = x != 1         ### 11-13 "no comparisons"
    c = x <= 1         ### 11-13 "no comparisons"
    d = x is 1         ### 11-13 "no comparisons"
    e = x in x         ### 11-13 "no comparisons"
    g = x and x        ### 11-14 "no logic"
    h = not x          ### 9-12 "no logic"
    i = x & x          ### 11-12 "no bit operations"
    j = x && x         ### 11-13 "no logic"
    return x
---
def f(x):
    y = 1 if x else 2  ### 11-13 "no if"
    return y
---
def f(x):
    y = lambda z: z    ### 9-15 "no lambda; write a def"
    return y
---
def f(x):
    y = [x for x in x] ### 9-10 "a list is not a tensor"
    z = {x}            ### 9-10 "no dictionaries"
    return y
---
def f(x):
    return x[0]        ### 13-14 "no subscripts"
---
def f(x):
    return x.T         ### 14-15 "no attribute \"T\"; write transpose"
---
def f(x):
    return x.shape     ### 14-19 "shapes are static"
---
def f(x):
    return x.relu      ### 14-18 "call it: .relu\\(\\)"
---
def f(x):
    return x.1         ### 13-15 "found \".1\" after the end of the statement"
---
def f(x):
    return +x          ### 12-13 "plus sign before an operand does nothing; remove it"
---
def f(x):
    return ()          ### 12-14 "parentheses are empty"
---
def f(x):
    return (x, x)      ### 14-15 "a tuple is not a tensor"
---
def f(x):
    return x x         ### 14-15 "found \"x\" after the end"
---
def f(x):
    return x +         ### 15-16 "found the end of the line where a value belongs"
---
def f(x):
    return (x)(x)      ### 15-16 "only a named function can be called"
---
def f(x):
    return 2(x)        ### 13-14 "only a named function can be called"
---
def f(x):
    return relu(*x)    ### 17-18 "arguments are written one by one"
---
def f(x, y):
    return min(x, y)       ### 19-20 "min takes 1 tensor; write minimum\\(a, b\\) for the smaller"
---
def f(x):
    return concat()        ### 12-18 "concat takes 1 tensor or more, got 0; write concat\\(a, b, axis=-1\\)"
---
def f(x):
    return concat(x, True) ### 22-26 "concat takes tensors"
---
def f(x):
    return layer_norm(x, eps=-1)   ### 30-32 "eps is a number and not negative; write eps=1e-5"
---
def f(x):
    return layer_norm(x, x, x, x)  ### 32-33 "layer_norm takes 1 to 3 tensors"
---
def f(x):
    return layer_norm(x, epsilon=1)    ### 26-33 "layer_norm has no argument epsilon; write eps="
---
def f(x):
    return rms_norm(x, weight=1)   ### 24-30 "rms_norm has no argument weight; write rms_norm.x, weight, axis=-1.: tensors have no names"
---
def f(x):
    return pow(x)          ### 12-15 "pow takes 2 tensors, got 1"
---
def f(x):
    return sum(axis=0, x)  ### 24-25 "a positional argument follows a named one"
---
def f(x):
    return sum(x, axis=None)  ### 24-28 "None is not a value of ForgeScript; leave the argument out"
---
def f(x):
    return "x"         ### 12-15 "a string is not a tensor"
---
def f(x):
    return rb"x"       ### 12-17 "no r strings"
---
def f(x):
    return x + True    ### 16-20 "True is not a tensor"
---
def f(x):
    return None        ### 12-16 "None is not a tensor"
---
def f(x):
    y = (z := x)       ### 12-14 "no assignment inside an expression"
    return y
---
def f(x):
    return ...         ### 12-15 "stands for nothing"
---
def f(x):
    return x ? x : x   ### 14-15 "no conditional expressions"
---
def f(x):
    return (x + 1      ### 12-13 "\"\\(\" is never closed; write the matching \"\\)\""
---
def f(x):
    y = relu(x         ### 13-14 "\"\\(\" is never closed"
    return y
---
def f(x):
    return x)          ### 13-14 "\"\\)\" closes nothing"
---
def f(x):
    return (x]         ### 14-15 "\"\\]\" does not match \"\\(\"; write \"\\)\""
---
def f(x):
    return x × 2       ### 14-15 "'×' is not an operator of ForgeScript; write \\*"
---
def f(x):
    return x − 2       ### 14-15 "write -"
---
def f(x):
    größe = x          ### 7-10 "not a name: it has letters outside ASCII"
    return x
---
def f(x):
    return x # fine
    # 1 +
---
def f(x):
    a = 0x1F           ### 9-13 "not a decimal number; write 31"
    b = 1_000          ### 9-14 "no underscores; write 1000"
    c = 1j             ### 9-11 "no complex numbers"
    d = 1.2.3          ### 9-14 "1.2.3 is not a number"
    e = 1e             ### 9-11 "1e is not a number"
    g = 007            ### 9-12 "extra zeros; write 7"
    h = 1e999          ### 9-14 "1e999 is not finite in float32"
    i = 3.5e38         ### 9-15 "not finite in float32"
    j = 1e-46          ### 9-14 "becomes zero in float32"
    return x
---
def f(x):
    a = 12abc          ### 9-14 "12abc is not a number"
    b = 0.00000000000000000000000000000000000000000000000000000000000000001 ### 9-76 "67 characters; a number has at most 64"
    return x
---
def f(x):
    return inf         ### 12-15 "inf is not defined; write a finite number"
