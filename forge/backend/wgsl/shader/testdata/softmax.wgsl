// Softmax of each row: a workgroup for a row, reduced by trees.
struct Shape { rows: u32, columns: u32 }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> shape: Shape;

override lanes: u32 = 64u;
var<workgroup> part: array<f32, lanes>;

@compute @workgroup_size(lanes)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
  let lane = local.x;
  let first = group.x * shape.columns;
  var high = -3.4028235e38;
  for (var i = lane; i < shape.columns; i += lanes) {
    high = max(high, x[first + i]);
  }
  part[lane] = high;
  workgroupBarrier();
  for (var step = lanes / 2u; step > 0u; step /= 2u) {
    if (lane < step) {
      part[lane] = max(part[lane], part[lane + step]);
    }
    workgroupBarrier();
  }
  let top = part[0];
  workgroupBarrier();
  var sum = 0.0;
  for (var i = lane; i < shape.columns; i += lanes) {
    sum += exp(x[first + i] - top);
  }
  part[lane] = sum;
  workgroupBarrier();
  for (var step = lanes / 2u; step > 0u; step /= 2u) {
    if (lane < step) {
      part[lane] += part[lane + step];
    }
    workgroupBarrier();
  }
  let total = part[0];
  for (var i = lane; i < shape.columns; i += lanes) {
    y[first + i] = exp(x[first + i] - top) / total;
  }
}
