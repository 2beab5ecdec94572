// linear_0
@group(0) @binding(0) var<storage, read_write> p0: array<f32>;
@group(0) @binding(1) var<storage, read> p1: array<vec4f>;
@group(0) @binding(2) var<storage, read> p2: array<vec4f>;
@group(0) @binding(3) var<storage, read> p3: array<f32>;
var<workgroup> block_a: array<vec4f, 256>;
var<workgroup> block_b: array<vec4f, 256>;

fn is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

fn relu_f32(x: f32) -> f32 {
  return select(x, 0.0, x <= 0.0 && !is_nan(x));
}

fn read_a(m: i32, k: i32) -> vec4f {
  if (!(m < 70)) { return vec4f(); }
  return p1[m * 8 + k / 4];
}

fn read_b(k: i32, n: i32) -> vec4f {
  return p2[k * 16 + n / 4];
}

@compute @workgroup_size(8, 8, 1)
fn linear_0(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
  let group = id.x;
  let top = i32(group);
  let first_m = top * 64;
  let first_n = 0 * 64;
  let own_m = i32(lane / 8u) * 8;
  let own_n = i32(lane % 8u) * 8;
  var c0_0 = vec4f();
  var c0_1 = vec4f();
  var c1_0 = vec4f();
  var c1_1 = vec4f();
  var c2_0 = vec4f();
  var c2_1 = vec4f();
  var c3_0 = vec4f();
  var c3_1 = vec4f();
  var c4_0 = vec4f();
  var c4_1 = vec4f();
  var c5_0 = vec4f();
  var c5_1 = vec4f();
  var c6_0 = vec4f();
  var c6_1 = vec4f();
  var c7_0 = vec4f();
  var c7_1 = vec4f();
  for (var start = 0; start < 32; start += 16) {
    block_a[i32(lane)] = read_a(first_m + (i32(lane)) / 4, start + (i32(lane)) % 4 * 4);
    block_a[i32(lane) + 64] = read_a(first_m + (i32(lane) + 64) / 4, start + (i32(lane) + 64) % 4 * 4);
    block_a[i32(lane) + 128] = read_a(first_m + (i32(lane) + 128) / 4, start + (i32(lane) + 128) % 4 * 4);
    block_a[i32(lane) + 192] = read_a(first_m + (i32(lane) + 192) / 4, start + (i32(lane) + 192) % 4 * 4);
    block_b[i32(lane)] = read_b(start + (i32(lane)) / 16, first_n + (i32(lane)) % 16 * 4);
    block_b[i32(lane) + 64] = read_b(start + (i32(lane) + 64) / 16, first_n + (i32(lane) + 64) % 16 * 4);
    block_b[i32(lane) + 128] = read_b(start + (i32(lane) + 128) / 16, first_n + (i32(lane) + 128) % 16 * 4);
    block_b[i32(lane) + 192] = read_b(start + (i32(lane) + 192) / 16, first_n + (i32(lane) + 192) % 16 * 4);
    workgroupBarrier();
    for (var k = 0; k < 4; k++) {
      let a0 = block_a[(own_m + 0) * 4 + k];
      let a1 = block_a[(own_m + 1) * 4 + k];
      let a2 = block_a[(own_m + 2) * 4 + k];
      let a3 = block_a[(own_m + 3) * 4 + k];
      let a4 = block_a[(own_m + 4) * 4 + k];
      let a5 = block_a[(own_m + 5) * 4 + k];
      let a6 = block_a[(own_m + 6) * 4 + k];
      let a7 = block_a[(own_m + 7) * 4 + k];
      let b0_0 = block_b[(k * 4 + 0) * 16 + own_n / 4 + 0];
      let b0_1 = block_b[(k * 4 + 0) * 16 + own_n / 4 + 1];
      c0_0 = fma(vec4f(a0.x), b0_0, c0_0);
      c0_1 = fma(vec4f(a0.x), b0_1, c0_1);
      c1_0 = fma(vec4f(a1.x), b0_0, c1_0);
      c1_1 = fma(vec4f(a1.x), b0_1, c1_1);
      c2_0 = fma(vec4f(a2.x), b0_0, c2_0);
      c2_1 = fma(vec4f(a2.x), b0_1, c2_1);
      c3_0 = fma(vec4f(a3.x), b0_0, c3_0);
      c3_1 = fma(vec4f(a3.x), b0_1, c3_1);
      c4_0 = fma(vec4f(a4.x), b0_0, c4_0);
      c4_1 = fma(vec4f(a4.x), b0_1, c4_1);
      c5_0 = fma(vec4f(a5.x), b0_0, c5_0);
      c5_1 = fma(vec4f(a5.x), b0_1, c5_1);
      c6_0 = fma(vec4f(a6.x), b0_0, c6_0);
      c6_1 = fma(vec4f(a6.x), b0_1, c6_1);
      c7_0 = fma(vec4f(a7.x), b0_0, c7_0);
      c7_1 = fma(vec4f(a7.x), b0_1, c7_1);
      let b1_0 = block_b[(k * 4 + 1) * 16 + own_n / 4 + 0];
      let b1_1 = block_b[(k * 4 + 1) * 16 + own_n / 4 + 1];
      c0_0 = fma(vec4f(a0.y), b1_0, c0_0);
      c0_1 = fma(vec4f(a0.y), b1_1, c0_1);
      c1_0 = fma(vec4f(a1.y), b1_0, c1_0);
      c1_1 = fma(vec4f(a1.y), b1_1, c1_1);
      c2_0 = fma(vec4f(a2.y), b1_0, c2_0);
      c2_1 = fma(vec4f(a2.y), b1_1, c2_1);
      c3_0 = fma(vec4f(a3.y), b1_0, c3_0);
      c3_1 = fma(vec4f(a3.y), b1_1, c3_1);
      c4_0 = fma(vec4f(a4.y), b1_0, c4_0);
      c4_1 = fma(vec4f(a4.y), b1_1, c4_1);
      c5_0 = fma(vec4f(a5.y), b1_0, c5_0);
      c5_1 = fma(vec4f(a5.y), b1_1, c5_1);
      c6_0 = fma(vec4f(a6.y), b1_0, c6_0);
      c6_1 = fma(vec4f(a6.y), b1_1, c6_1);
      c7_0 = fma(vec4f(a7.y), b1_0, c7_0);
      c7_1 = fma(vec4f(a7.y), b1_1, c7_1);
      let b2_0 = block_b[(k * 4 + 2) * 16 + own_n / 4 + 0];
      let b2_1 = block_b[(k * 4 + 2) * 16 + own_n / 4 + 1];
      c0_0 = fma(vec4f(a0.z), b2_0, c0_0);
      c0_1 = fma(vec4f(a0.z), b2_1, c0_1);
      c1_0 = fma(vec4f(a1.z), b2_0, c1_0);
      c1_1 = fma(vec4f(a1.z), b2_1, c1_1);
      c2_0 = fma(vec4f(a2.z), b2_0, c2_0);
      c2_1 = fma(vec4f(a2.z), b2_1, c2_1);
      c3_0 = fma(vec4f(a3.z), b2_0, c3_0);
      c3_1 = fma(vec4f(a3.z), b2_1, c3_1);
      c4_0 = fma(vec4f(a4.z), b2_0, c4_0);
      c4_1 = fma(vec4f(a4.z), b2_1, c4_1);
      c5_0 = fma(vec4f(a5.z), b2_0, c5_0);
      c5_1 = fma(vec4f(a5.z), b2_1, c5_1);
      c6_0 = fma(vec4f(a6.z), b2_0, c6_0);
      c6_1 = fma(vec4f(a6.z), b2_1, c6_1);
      c7_0 = fma(vec4f(a7.z), b2_0, c7_0);
      c7_1 = fma(vec4f(a7.z), b2_1, c7_1);
      let b3_0 = block_b[(k * 4 + 3) * 16 + own_n / 4 + 0];
      let b3_1 = block_b[(k * 4 + 3) * 16 + own_n / 4 + 1];
      c0_0 = fma(vec4f(a0.w), b3_0, c0_0);
      c0_1 = fma(vec4f(a0.w), b3_1, c0_1);
      c1_0 = fma(vec4f(a1.w), b3_0, c1_0);
      c1_1 = fma(vec4f(a1.w), b3_1, c1_1);
      c2_0 = fma(vec4f(a2.w), b3_0, c2_0);
      c2_1 = fma(vec4f(a2.w), b3_1, c2_1);
      c3_0 = fma(vec4f(a3.w), b3_0, c3_0);
      c3_1 = fma(vec4f(a3.w), b3_1, c3_1);
      c4_0 = fma(vec4f(a4.w), b3_0, c4_0);
      c4_1 = fma(vec4f(a4.w), b3_1, c4_1);
      c5_0 = fma(vec4f(a5.w), b3_0, c5_0);
      c5_1 = fma(vec4f(a5.w), b3_1, c5_1);
      c6_0 = fma(vec4f(a6.w), b3_0, c6_0);
      c6_1 = fma(vec4f(a6.w), b3_1, c6_1);
      c7_0 = fma(vec4f(a7.w), b3_0, c7_0);
      c7_1 = fma(vec4f(a7.w), b3_1, c7_1);
    }
    workgroupBarrier();
  }
  var sums = array<vec4f, 16>(c0_0, c0_1, c1_0, c1_1, c2_0, c2_1, c3_0, c3_1, c4_0, c4_1, c5_0, c5_1, c6_0, c6_1, c7_0, c7_1);
  for (var i = 0; i < 8; i++) {
    let m = first_m + own_m + i;
    if (m >= 70) { break; }
    for (var j = 0; j < 8; j++) {
      let n = first_n + own_n + j;
      var sum = sums[i * 2 + j / 4][j % 4];
      sum += p3[n];
      p0[m * 64 + n] = relu_f32(sum);
    }
  }
}

