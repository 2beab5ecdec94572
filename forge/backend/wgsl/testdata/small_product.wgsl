// matmul_0
@group(0) @binding(0) var<storage, read_write> p0: array<f32>;
@group(0) @binding(1) var<storage, read> p1: array<f32>;
@group(0) @binding(2) var<storage, read> p2: array<f32>;

fn read_a(b0: i32, m: i32, k: i32) -> vec4f {
  if (!(m < 3 && k < 5)) { return vec4f(); }
  let at = b0 * 15 + m * 5 + k;
  var v = vec4f(p1[at], 0, 0, 0);
  if (k + 1 < 5) { v.y = p1[at + 1]; }
  if (k + 2 < 5) { v.z = p1[at + 2]; }
  if (k + 3 < 5) { v.w = p1[at + 3]; }
  return v;
}

fn read_b(b0: i32, k: i32, n: i32) -> vec4f {
  if (!(k < 5 && n < 7)) { return vec4f(); }
  let at = b0 * 35 + k * 7 + n;
  var v = vec4f(p2[at], 0, 0, 0);
  if (n + 1 < 7) { v.y = p2[at + 1]; }
  if (n + 2 < 7) { v.z = p2[at + 2]; }
  if (n + 3 < 7) { v.w = p2[at + 3]; }
  return v;
}

@compute @workgroup_size(16, 4, 1)
fn matmul_0(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
  let group = id.x;
  let b0 = i32(group);
  let first_m = 0 * 4;
  let first_n = 0 * 64;
  let own_m = i32(lane / 16u) * 1;
  let own_n = i32(lane % 16u) * 4;
  var c0_0 = vec4f();
  for (var k = 0; k < 5; k += 4) {
    let a0 = read_a(b0, first_m + own_m, k);
    let b0_0 = read_b(b0, k, first_n + own_n);
    c0_0 = fma(vec4f(a0.x), b0_0, c0_0);
    let b1_0 = read_b(b0, k + 1, first_n + own_n);
    c0_0 = fma(vec4f(a0.y), b1_0, c0_0);
    let b2_0 = read_b(b0, k + 2, first_n + own_n);
    c0_0 = fma(vec4f(a0.z), b2_0, c0_0);
    let b3_0 = read_b(b0, k + 3, first_n + own_n);
    c0_0 = fma(vec4f(a0.w), b3_0, c0_0);
  }
  var sums = array<vec4f, 1>(c0_0);
  for (var i = 0; i < 1; i++) {
    let m = first_m + own_m + i;
    if (m >= 3) { break; }
    for (var j = 0; j < 4; j++) {
      let n = first_n + own_n + j;
      if (n >= 7) { break; }
      var sum = sums[i * 1 + j / 4][j % 4];
      p0[b0 * 21 + m * 7 + n] = sum;
    }
  }
}

