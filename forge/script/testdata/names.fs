def f(x):
    return y           ### 12-13 "y is not defined"
---
def f(weights):
    return wieghts + weights   ### 12-19 "did you mean weights\\?"
---
def f(x):
    a = b + x          ### 9-10 "b is not defined; line 9 assigns it; move that line up"
    b = x
    return a + b
---
def f(x):
    return relu + x    ### 12-16 "relu is a function; call it: relu\\(x\\)"
---
def g(x):
    return x
def f(x):
    return g + x       ### 12-13 "g is a function; call it: g\\(x\\)"
---
def f(x):
    return rleu(x)     ### 12-16 "there is no function rleu; did you mean relu\\?"
---
def f(x):
    return qwertyuiop(x)  ### 12-22 "there is no function qwertyuiop; the functions are abs, concat, cos, erf"
---
def f(x):
    return x.rleu()    ### 14-18 "there is no method rleu; did you mean relu\\?"
---
def f(x):
    return math.pi * x ### 12-16 "no modules, so math means nothing; write the number: 3.1415927"
---
def f(x):
    return x + np.inf  ### 16-18 "no modules, so np means nothing; every function"
---
def f(np):
    return np.pi       ### 15-17 "a tensor has no attribute"
---
def f(x):
    return foo(x)      ### 12-15 "there is no function foo; the functions are abs, "
---
def f(x):
    return x.lgo()     ### 14-17 "did you mean log\\?"
---
def f(x):
    return np.exp(x)   ### 12-14 "no modules, so np means nothing; write exp\\(x\\)"
---
def f(x):
    return torch.pow(x, 2)   ### 12-17 "no modules, so torch means nothing; write pow\\(a, b\\)"
---
def f(x):
    return torch.cat(x, x)   ### 12-17 "no modules, so torch means nothing; write concat\\(a, b"
---
def f(x):
    return amin(x)     ### 12-16 "there is no function amin; write min\\(x, axis"
---
def f(x):
    return clip(x, 0, 1)     ### 12-16 "minimum\\(maximum"
---
def f(x, y):
    return x(y)        ### 12-13 "x is a tensor and cannot be called; write \\* to multiply"
---
def g(x):
    return x
def f(x):
    return x.g()       ### 14-15 "g is not a method of tensors; call it as a function"
---
def f(x, x):           ### 10-11 "parameter x is named twice"
    return x
---
def f(x, y):           ### 10-11 "parameter y is not used; remove it, or call it _y"
    return x
---
def f(x):
    y = x              ### 5-6 "y is assigned and not used"
    return x
---
def f(x):
    y = x              ### 5-6 "y is assigned and not used"
    y = x
    return y
---
def f(relu):           ### 7-11 "relu is a function of the language and cannot name a tensor"
    return relu
---
def f(x):
    sum = x            ### 5-8 "sum is a function of the language and cannot name a tensor"
    return sum
---
def f(x):
    g = x              ### 5-6 "g is a function of this source and cannot name a tensor"
    return g
def g(x):
    return x
---
def exp(x):            ### 5-8 "exp is a function of the language"
    return x
---
def range(x):          ### 5-10 "cannot be called range, because it becomes a Go value"
    return x
---
def f(x):
    return x
def f(y):              ### 5-6 "function f is defined twice"
    return y
---
def f(x):
    return f(x)        ### 12-13 "f calls itself; calls are replaced by the callee's body"
---
def f(x):
    return g(x)
def g(x):
    return h(x)
def h(x):
    return f(x) + 1    ### 12-13 "f calls itself, through h"
---
def g(x, y):
    return x + y
def f(x):
    a = g(x)           ### 9-10 "g takes 2 tensors, got 1; its definition is g\\(x, y\\)"
    b = g(x, x, x)     ### 9-10 "g takes 2 tensors, got 3"
    c = g(x, y=x)      ### 14-15 "by position"
    d = g(x, (1, 2))   ### 14-20 "g takes tensors; pass a tensor"
    return a + b + c + d
---
def f(x):
    return relu()      ### 12-16 "relu takes 1 tensor, got 0; write relu\\(x\\)"
---
def f(x):
    return relu(x, x)  ### 20-21 "relu takes 1 tensor; write relu\\(x\\)"
---
def f(x):
    return matmul(x)   ### 12-18 "matmul takes 2 tensors, got 1; write matmul\\(a, b\\)"
---
def f(x):
    return relu(x, inplace=True)   ### 20-27 "relu has no argument inplace"
---
def f(x):
    return sum(x, 1)   ### 19-20 "sum takes 1 tensor; write axis=1"
---
def f(x):
    return sum(x, -1)  ### 19-21 "write axis=-1"
---
def f(x):
    return sum(x, (0, 1))    ### 19-25 "one axis at a time"
---
def f(x):
    return max(x, x)   ### 19-20 "write maximum\\(a, b\\)"
---
def f(x):
    return sum(x, dim=1)     ### 19-22 "sum has no argument dim; write axis="
---
def f(x):
    return sum(x, axis=1.5)  ### 24-27 "axis is one whole number"
---
def f(x):
    return sum(x, axis=x)    ### 24-25 "axis is one whole number"
---
def f(x):
    return sum(x, axis=0, axis=1)  ### 27-31 "axis is given twice"
---
def f(x):
    return sum(x, keepdims=1)      ### 28-29 "keepdims is True or False"
---
def f(x):
    return relu(True)  ### 17-21 "True and False are not tensors"
---
def f(x):
    return reshape(x)  ### 12-19 "reshape needs a shape; write reshape\\(x, 8, 16\\)"
---
def f(x):
    return reshape(x, x)     ### 23-24 "the shape of reshape is whole numbers; shapes are static"
---
def f(x):
    return reshape(x, 2.0)   ### 23-26 "whole numbers"
---
def f(x):
    return reshape(x, 1, 1, 1, 1, 1, 1, 1, 1, 1)   ### 47-48 "9 dimensions; a tensor has at most 8"
---
def f(x):
    return transpose(x, axes=1)    ### 25-29 "transpose has no argument axes"
---
def f(a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r):   ### 55-56 "17 parameters; a function takes at most 16"
    return a+b+c+d+e+g+h+i+j+k+l+m+n+o+p+q+r
---
def f(x, y: f32[8]) -> f32[8]:   ### 24-30 "the result is annotated, and not every parameter is"
    return x + y
