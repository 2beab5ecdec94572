# trace 8x16,16x12
def f(x, w):
    h = x @ w
    return relu(h), sum(h), x
---
# trace 8
def pair(x):
    return x + 1, x * 2

def f(x):
    a, b = pair(x)
    _, c = pair(b)
    return a + c
---
# trace 8
def pair(x: f32[8]) -> (f32[8], f32):
    return relu(x), sum(x)
---
# trace 8
def pair(x: f32[8]) -> (f32[8], f32[8]):
    return relu(x), sum(x)   ### 21-27 "the result is f32.., and the annotation says f32.8."
---
def pair(x):
    return x, x

def f(x):
    return relu(pair(x))     ### 17-21 "pair returns 2 tensors where one is needed; unpack them on a line of their own: a, b = pair"
---
def pair(x):
    return x, x

def f(x):
    return pair(x)           ### 12-16 "pair returns 2 tensors where one is needed"
---
def pair(x):
    return x, x

def f(x):
    a, b, c = pair(x)        ### 15-19 "pair returns 2 tensors, and 3 names are assigned; write as many names"
    return a + b + c
---
def one(x):
    return x

def f(x):
    a, b = one(x)            ### 12-15 "one returns 1 tensor, and 2 names are assigned; assign it to one name"
    return a + b
---
def pair(x):
    return x, x

def f(x):
    a, a = pair(x)           ### 8-9 "a is assigned twice on one line"
    return a
---
def pair(x):
    return x, x

def f(x):
    a, b = pair(x)           ### 8-9 "b is assigned and not used; delete the line, or call it _b"
    return a
---
def f(x):
    a, b = relu(x)           ### 12-19 "this is one tensor, and 2 names"
    return a + b
---
def pair(x):
    return x, x

def f(x):
    a, relu = pair(x)        ### 8-12 "relu is a function of the language"
    return a
---
def f(x: f32[8]) -> (f32[8], (f32[8], f32)):   ### 30-31 "a tuple of results is flat"
    return x, x
---
def f(x: f32[8]) -> (f32[8]):                  ### 21-29 "a tuple has two or more results"
    return x
---
def f(x: f32[8]) -> (f32[8], f32[8]):          ### 22-28 "the annotation says 2 results, and f returns 1"
    return x
---
def f(x) -> (f32[8], f32[8]):                  ### 14-20 "not every parameter is"
    return x, x
---
def f(x):
    a, b = f(x)              ### 12-13 "f calls itself"
    return a, b
