// half precision
// want: 1.5 2048 0.099975586 65504
enable f16;
@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> in: array<f16>;
@group(0) @binding(2) var<storage, read_write> half: array<vec4<f16>>;
var<workgroup> w: array<f16, 4>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  w[i] = in[i];
  workgroupBarrier();
  half[i] = vec4h(w[3u - i], in[i + 4u], f16(i), 0.1h);
  if (i == 0u) {
    let one = in[8] + 1.0h; // in[8] is 0
    out[0] = f32(one * 1.5h);
    out[1] = f32(one * 2049.0h);
    out[2] = f32(one * 0.1h);
    out[3] = f32(one * 65504h);
    out[4] = f32(bitcast<vec2<f16>>(0x3c004000u).y);
    out[5] = f32(fma(one, 2.0h, 0.5h)) + f32(sqrt(one * 2h)) + f32(dot(vec2h(one, 2), vec2h(3, one)));
  }
}
