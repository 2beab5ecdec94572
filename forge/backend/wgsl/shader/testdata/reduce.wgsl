// The sum of all elements: each workgroup sums a part in a tree over workgroup
// memory and one invocation of it adds the part to what storage has.
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> parts: array<f32>;

var<workgroup> tree: array<f32, 32>;

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let at = group.x * 64u + lane;
  let n = arrayLength(&x);
  var v = 0.0;
  if (at < n) { v = x[at]; }
  if (at + 32u < n) { v += x[at + 32u]; }
  tree[lane] = v;
  workgroupBarrier();
  if (lane < 16u) { tree[lane] += tree[lane + 16u]; }
  workgroupBarrier();
  if (lane < 8u) { tree[lane] += tree[lane + 8u]; }
  workgroupBarrier();
  if (lane < 4u) { tree[lane] += tree[lane + 4u]; }
  workgroupBarrier();
  if (lane < 2u) { tree[lane] += tree[lane + 2u]; }
  workgroupBarrier();
  if (lane == 0u) { parts[group.x] = tree[0] + tree[1]; }
}
