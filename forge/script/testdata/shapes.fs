# trace 8x16,16x12,12
def layer(x, w, b):
    return relu(x @ w + b)
---
# trace 8x16,12x16
def f(x, w):
    return x @ w             ### 12-17 "matmul.*inner dimensions.*; write transpose\\(w\\) for the second operand"
---
# trace 16x8,16x12
def f(x, w):
    return x @ w             ### 12-17 "write transpose\\(x\\) for the first operand"
---
# trace 8x16,15x12
def f(x, w):
    return matmul(x, w)      ### 12-24 "equal inner dimensions K"
---
# trace 8x16,16
def f(x, v):
    return x @ v             ### 12-17 "rank 2 or more.*write reshape\\(v, 1, 16\\) or reshape\\(v, 16, 1\\)"
---
# trace 8x16,_
def f(x, v):
    return x @ v             ### 12-17 "write \\* to scale"
---
# trace 8x12,8
def f(x, b):
    y = x * 2
    return y + b             ### 12-17 "do not broadcast.*to align b at the left, write reshape\\(b, 8, 1\\)"
---
# trace 8x12,3
def f(x, b):
    return x + b             ### 12-17 "each pair of dimensions must be equal or have a 1"
---
# trace 8x12
def f(x):
    return x.sum(axis=2)     ### 12-25 "sum.*axis"
---
# trace 8x12,8x11
def f(x, y):
    return concat(x, relu(y))    ### 12-30 "concat of x: .* and relu\\(y\\): .*: operands x and relu\\(y\\) differ in dimension 1, 12 and 11; only dimension 0 may differ"
---
# trace 8x12,12
def f(x, w):
    return layer_norm(x, w)      ### 12-28 "takes 1 or 3 operands, got 2: weight and bias go together"
---
# trace 8x12,8
def f(x, w):
    return rms_norm(x, w)        ### 12-26 "weight w has shape \\[8\\]; the normalised dimensions of x are \\[12\\]"
---
# trace 8x12
def f(x):
    return log_softmax(x, axis=2)    ### 12-34 "axis 2 is out of range for rank 2"
---
# trace 8x12
def f(x):
    return softmax(x, axis=-3)   ### 12-31 "softmax.*axis"
---
# trace 8x12
def f(x):
    return x.reshape(7, -1)  ### 12-28 "reshape"
---
# trace 8x12
def f(x):
    return transpose(x, 0, 0)    ### 12-30 "transpose"
---
# trace 4x8
def f(x: f32[8,4]) -> f32[8,4]:
    return x                 # a call may bring other shapes
---
# trace 4x8
def f(x: f32[4,8]) -> f32[8]:
    return x.sum(axis=1)     ### 12-25 "the result is f32\\[4\\], and the annotation says f32\\[8\\]"
---
# trace 4x8,2
def f(x):                    ### 5-6 "f takes 1 tensor, got 2"
    return x
---
# trace 4097x4097
def f(x):                    ### 5-6 "16785409 elements together, and the limit is 16777216"
    return x
---
# trace 16777216,1
def f(x, y):                 ### 5-6 "16777217 elements together"
    return x + y
---
# trace 0x4
def f(x):                    ### 7-8 "no elements"
    return x
---
# trace 99999x99999
def f(x):                    ### 7-8 "input x: shape"
    return x
---
# trace 1000000x1,1000
def f(x, y):
    return x * y             ### 12-17 "1000000000 elements, and the limit for one tensor is 268435456"
---
# trace 4x8
def inner(x: f32[4]) -> f32[8]:
    return x                 ### 12-13 "the result is f32\\[4\\], and the annotation says f32\\[8\\]"
def f(x):
    return inner(x) + inner(x.sum(axis=1))
---
# trace 4x8
def inner(x):
    return x @ x             ### 12-17 "matmul"
def f(x):
    return inner(x)
---
# trace 8x12,8
def f(x, b):
    h = x * 2
    h = h + 1
    return h + (relu(b) * 2.0 - sigmoid(b))   ### 12-44 "add of h: f32\\[8,12\\] and …: f32\\[8\\]: shapes .* align … at the left, write reshape\\(…, 8, 1\\)"
---
# trace 8x12,8
def f(x, b):
    return x * 2 + abs(b)    ### 12-26 "add of x \\* 2: f32\\[8,12\\] and abs\\(b\\): f32\\[8\\]"
