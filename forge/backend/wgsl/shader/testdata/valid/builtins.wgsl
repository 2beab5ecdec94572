// functions of floats
// tolerance: 4e-6
@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> in: array<f32>;
@compute @workgroup_size(16) fn main(@builtin(local_invocation_index) i: u32) {
  let x = in[i];
  let p = abs(x) + 0.1;
  out[i] = floor(x) + 10.0 * ceil(x) + 100.0 * trunc(x) + 1000.0 * round(x) + 10000.0 * sign(x);
  out[i + 16u] = sqrt(p) + inverseSqrt(p) * 10.0;
  out[i + 32u] = fract(x) + saturate(x) + clamp(x, -1.0, 2.0) + min(x, 1.5) + max(x, -1.5) + step(1.0, x) + mix(x, 2.0, 0.25) + fma(x, 2.0, 1.0) + degrees(x) / 100.0 + radians(x);
  out[i + 48u] = smoothstep(-3.0, 4.0, x) + round(x + 0.5);
}
---
// functions with their own accuracy
// tolerance: 2e-3
@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> in: array<f32>;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
  let x = in[i + 4u] * 0.5;
  let u = f32(i) / 8.0 - 0.45;
  out[i] = exp(x) + exp2(x);
  out[i + 8u] = log(abs(x) + 0.1) + log2(abs(x) + 0.1);
  out[i + 16u] = sin(x) + cos(x) + tan(u);
  out[i + 24u] = asin(u) + acos(u) + atan(x) + atan2(u, x);
  out[i + 32u] = sinh(u) + cosh(u) + tanh(x);
  out[i + 40u] = asinh(x) + acosh(1.5 + abs(x)) + atanh(u);
  out[i + 48u] = pow(abs(x) + 0.5, 1.7);
}
---
// functions of vectors
// tolerance: 1e-5
@group(0) @binding(0) var<storage, read_write> out: array<vec3<f32>>;
@group(0) @binding(1) var<storage, read> in: array<vec3<f32>>;
@compute @workgroup_size(1) fn main() {
  let a = in[1];
  let b = in[2];
  out[0] = cross(a, b);
  out[1] = normalize(a);
  out[2] = vec3f(dot(a, b), length(a), distance(a, b));
  out[3] = reflect(a, normalize(b));
  out[4] = faceForward(a, b, -a);
  out[5] = refract(normalize(a), normalize(b), 0.5);
  out[6] = mix(a, b, vec3f(0.1, 0.2, 0.3));
  out[7] = mix(a, b, 0.5);
  out[8] = vec3f(length(-2.5), f32(all(a == a)), f32(any(a < b)));
  out[9] = clamp(a, vec3f(-1), b + 20.0);
  let m = modf(a);
  out[10] = m.fract + m.whole * 10.0;
  let f = frexp(b);
  out[11] = f.fract + vec3f(f.exp) * 10.0;
  out[12] = ldexp(a, vec3i(1, 2, -3));
  out[13] = abs(a) + sign(b);
  out[14] = select(a, b, vec3<bool>(true, false, true));
  out[15] = quantizeToF16(a * 1.2345);
}
---
// functions of integers
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> in: array<u32>;
@compute @workgroup_size(1) fn main() {
  let x = in[1] * 2654435761u;
  let s = bitcast<i32>(x);
  out[0] = countOneBits(x);
  out[1] = countLeadingZeros(x >> 3u);
  out[2] = countTrailingZeros(x << 5u);
  out[3] = reverseBits(x);
  out[4] = firstLeadingBit(x);
  out[5] = firstTrailingBit(x);
  out[6] = u32(firstLeadingBit(s));
  out[7] = extractBits(x, 3u, 7u);
  out[8] = bitcast<u32>(extractBits(s, 8u, 24u));
  out[9] = insertBits(x, 5u, 4u, 8u);
  out[10] = u32(abs(s));
  out[11] = u32(clamp(s, -5, 5) + 10);
  out[12] = u32(sign(s) + 1);
  out[13] = dot(vec3u(1u, 2u, 3u), vec3u(x, 5u, 6u));
  out[14] = firstLeadingBit(x ^ x);
  out[15] = u32(firstTrailingBit(s ^ s));
  out[16] = countLeadingZeros(x ^ x);
  out[17] = extractBits(x, 30u + in[0], 20u);
  out[18] = insertBits(x, 7u, 40u + in[0], 3u);
  out[19] = dot4U8Packed(x, 0x01020304u);
  out[20] = bitcast<u32>(dot4I8Packed(x, 0x01fe0304u));
  out[21] = min(x, 77u) + max(in[2], 50u);
  out[22] = u32(max(s, -3) + min(s, 3));
}
---
// packing
// tolerance: 1e-6
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> in: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> back: array<vec4<f32>>;
@compute @workgroup_size(1) fn main() {
  let v = in[2] / 8.0;
  out[0] = pack4x8snorm(v);
  out[1] = pack4x8unorm(v);
  out[2] = pack2x16snorm(v.xy);
  out[3] = pack2x16unorm(v.zw);
  out[4] = pack2x16float(v.xy);
  out[5] = pack4xI8(vec4i(-1, 2, -300, 4));
  out[6] = pack4xU8(vec4u(1, 2, 300, 4));
  out[7] = pack4xI8Clamp(vec4i(-1, 2, -300, 400));
  out[8] = pack4xU8Clamp(vec4u(1, 2, 300, 4));
  back[0] = unpack4x8snorm(out[0]);
  back[1] = unpack4x8unorm(out[1]);
  back[2] = vec4f(unpack2x16snorm(out[2]), unpack2x16unorm(out[3]));
  back[3] = vec4f(unpack2x16float(out[4]), 0, 0);
  back[4] = vec4f(unpack4xI8(out[5]));
  back[5] = vec4f(unpack4xU8(out[6]));
}
---
// atomics of storage
@group(0) @binding(0) var<storage, read_write> out: Counters;
struct Counters { sum: atomic<u32>, low: atomic<i32>, high: atomic<u32>, bits: atomic<u32>, every: atomic<u32>, odd: atomic<u32>, down: atomic<i32>, swapped: atomic<u32>, tail: array<u32, 64> }
@compute @workgroup_size(32) fn main(@builtin(local_invocation_index) i: u32) {
  atomicAdd(&out.sum, i);
  atomicMin(&out.low, -i32(i));
  atomicMax(&out.high, i * 3u);
  atomicOr(&out.bits, 1u << i);
  atomicAnd(&out.every, i);
  atomicXor(&out.odd, i * 7u);
  atomicSub(&out.down, i32(i));
  if (i == 3u) {
    atomicStore(&out.swapped, 5u);
    let r = atomicCompareExchangeWeak(&out.swapped, 6u, 9u);
    out.tail[0] = r.old_value + u32(r.exchanged) * 100u;
    let e = atomicExchange(&out.swapped, 8u);
    out.tail[1] = e;
    let old = atomicAdd(&out.swapped, 2u);
    out.tail[2] = old;
  }
}
---
// constants of every function
// tolerance: 1e-5
@group(0) @binding(0) var<storage, read_write> out: array<f32>;
const a = f32(abs(-3)) + max(1, 2.5) + f32(min(4u, 3));
const b = sqrt(2) * sin(1.0) + exp(0.5);
const c = vec3(1, 2, 3) * 2;
const d = dot(c, vec3(1));
const e = cross(vec3(1.0, 0, 0), vec3(0, 1.0, 0)).z;
const f = select(1, 2, true) + i32(all(vec2(true)));
const g = modf(2.75).fract + frexp(8.0).fract + f32(frexp(8.0).exp);
const h = array(1, 2, 3)[1] + countOneBits(255);
const k = bitcast<f32>(0x3f800000) + f32(1u << 3);
const l = determinant(mat2x2(1.0, 2, 3, 4));
const m = clamp(5, 1, 3) + sign(-2);
const n = (mat2x2(1.0, 2, 3, 4) * vec2(1, 1)).y;
const o = pack4x8unorm(vec4(1, 0, 1, 0)) == 0x00ff00ffu;
@compute @workgroup_size(1) fn main() {
  out[0] = a; out[1] = b; out[2] = f32(c.z); out[3] = f32(d); out[4] = e; out[5] = f32(f); out[6] = g;
  out[7] = f32(h); out[8] = k; out[9] = l; out[10] = f32(m); out[11] = n; out[12] = f32(o);
  out[13] = f32(ldexp(1.5, 3)) + mix(1, 3, 0.5) + step(1, 2) + fract(-0.25) + trunc(-1.5);
}
---
// constant conversions that clamp
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
const a = u32(-1.5);
const b = u32(1e40);
const c = i32(1e20);
const d = u32(4294967295.0);
const e = u32(1e20f);
const f = i32(2147483647.5);
const g = vec2<u32>(vec2(-1.5, 3e9));
const h = u32(-1i);
@compute @workgroup_size(1) fn main() {
  out[0] = a; out[1] = b; out[2] = u32(c); out[3] = d; out[4] = e; out[5] = u32(f); out[6] = g.y; out[7] = h;
}
