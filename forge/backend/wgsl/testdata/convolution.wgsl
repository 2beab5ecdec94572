// conv2d_0
@group(0) @binding(0) var<storage, read_write> p0: array<f32>;
@group(0) @binding(1) var<storage, read> p1: array<f32>;
@group(0) @binding(2) var<storage, read> p2: array<f32>;

@compute @workgroup_size(16, 1, 1)
fn conv2d_0(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
  let group = id.x;
  let top = i32(group);
  let point = 0 * 16 + i32(lane);
  let row = point / 4;
  let column = point % 4;
  let first = top * 4;
  var sums: array<f32, 4>;
  for (var input = 0; input < 3; input++) {
    for (var v = 0; v < 3; v++) {
      let y = row * 2 + v - 1;
      if (!(u32(y) < 8u)) { continue; }
      for (var h = 0; h < 3; h++) {
        let z = column * 2 + h - 1;
        if (!(u32(z) < 8u)) { continue; }
        let x = p1[input * 64 + y * 8 + z];
        for (var q = 0; q < 4; q++) {
          sums[q] = fma(x, p2[min(first + q, 5) * 27 + input * 9 + v * 3 + h], sums[q]);
        }
      }
    }
  }
  for (var q = 0; q < 4; q++) {
    if (top * 4 + q >= 6) { break; }
    let channel = first + q;
    var sum = sums[q];
    p0[channel * 16 + row * 4 + column] = sum;
  }
}

