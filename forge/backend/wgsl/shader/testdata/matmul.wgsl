// C = A B with tiles of 16 by 16 in workgroup memory.
struct Shape { m: u32, n: u32, k: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> shape: Shape;

const T = 16u;
var<workgroup> ta: array<array<f32, T>, T>;
var<workgroup> tb: array<array<f32, T>, T>;

@compute @workgroup_size(T, T)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
  let row = group.y * T + local.y;
  let col = group.x * T + local.x;
  var sum = 0.0;
  for (var t = 0u; t < shape.k; t += T) {
    ta[local.y][local.x] = 0.0;
    if (row < shape.m && t + local.x < shape.k) {
      ta[local.y][local.x] = a[row * shape.k + t + local.x];
    }
    tb[local.y][local.x] = 0.0;
    if (t + local.y < shape.k && col < shape.n) {
      tb[local.y][local.x] = b[(t + local.y) * shape.n + col];
    }
    workgroupBarrier();
    for (var i = 0u; i < T; i++) {
      sum += ta[local.y][i] * tb[i][local.x];
    }
    workgroupBarrier();
  }
  if (row < shape.m && col < shape.n) {
    c[row * shape.n + col] = sum;
  }
}
