/* What all products share. A description P of one product has sizes, steps in elements
   and the functions that find the matrices of a batch and finish a sum. */

/* f16 and bf16 as the bits that memory has. */
struct f16_t { u16 bits; };
struct bf16_t { u16 bits; };

INLINE float to_float(float x) { return x; }
INLINE float to_float(f16_t x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
INLINE float to_float(bf16_t x) { return __uint_as_float((unsigned)x.bits << 16); }
INLINE void from_float(float &to, float x) { to = x; }
INLINE void from_float(f16_t &to, float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(x)); }
INLINE void from_float(bf16_t &to, float x) {
  unsigned b = __float_as_uint(x);
  to.bits = x == x ? (b + 0x7fff + (b >> 16 & 1)) >> 16 : 0x7fc0;
}

/* Elements that are loaded or stored at once. */
template <class T, int n> struct alignas(sizeof(T) * n) pack { T at[n]; };

/* 16 bytes from device memory to shared memory; the last of them are zero when there
   are fewer. Copies of a thread are in groups, of which all but the last few are waited for. */
INLINE unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
INLINE void copy16(unsigned to, const void *from, bool there) {
#if __CUDA_ARCH__ >= 800
  int bytes = there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
#else
  uint4 x = there ? *(const uint4 *)from : uint4{0, 0, 0, 0};
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w));
#endif
}
INLINE void commit_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int left> INLINE void wait_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
#endif
}

/* Fills a block [rows] of k by [cols] of half precision in shared memory, with zeros behind
   the edges. Block says where unit u of line l goes; lines are along k, or across it. Where
   a thread's units lie at equal distances, their addresses are one and constants. What is
   not whole comes by get, element by element. */
template <class Block, class T, bool along, bool whole, bool even_k, int rows, int cols, int threads, int C, class Get> INLINE void fill_block(unsigned to, const T *p, int k0, int k1, int c0, i64 step_k, i64 step_c, Get get) {
  constexpr int line = Block::line, units = line * Block::lines, apart = threads / line;
  constexpr bool even = threads % line == 0 && apart % 8 == 0;
  const int first = threadIdx.x / line, own = threadIdx.x % line;
  const unsigned place = to + Block::at(first, own);
  const T *from = p + (k0 + (along ? own * 8 : first)) * step_k + (c0 + (along ? first : own * 8)) * step_c;
#pragma unroll
  for (int i = 0; i < (units + threads - 1) / threads; i++) {
    const int u = i * threads + threadIdx.x;
    if (units % threads && u >= units) break;
    const int l = even ? first + i * apart : u / line, unit = even ? own : u % line;
    const unsigned at = even ? place + i * apart * Block::bytes : to + Block::at(l, unit);
    const int k = k0 + (along ? unit * 8 : l), c = c0 + (along ? l : unit * 8);
    if (whole) {
      const bool in = (even_k || k < k1) && (C % cols == 0 || c < C);
      const T *x = even ? from + i * apart * (along ? step_c : step_k) : p + k * step_k + c * step_c;
      copy16(at, in ? x : p, in);
    } else {
      pack<T, 8> x;
#pragma unroll
      for (int j = 0; j < 8; j++) {
        const int kj = along ? k + j : k, cj = along ? c : c + j;
        x.at[j].bits = kj < k1 && cj < C ? get(p, kj, cj).bits : (u16)0;
      }
      const uint4 y = *(const uint4 *)&x;
      asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(y.x), "r"(y.y), "r"(y.z), "r"(y.w));
    }
  }
}

/* The results at (m, n) and (m, n + 1): finished, or partial sums of one of several slices of k. */
template <class P> INLINE void put(const P &p, typename P::Out *o, float *part, int z, int m, int n, float x) {
  if (m >= P::M || n >= P::N) return;
  if (P::slices > 1) part[(i64)m * P::N + n] = x;
  else from_float(o[(i64)m * P::o_m + n], p.finish(x, z, m, n));
}
template <class P> INLINE void put2(const P &p, typename P::Out *o, float *part, int z, int m, int n, float x, float y) {
  if (P::N % 2 == 0 && m < P::M && n < P::N && (P::slices > 1 || P::o_pairs)) {
    if (P::slices > 1) {
      *(float2 *)(part + (i64)m * P::N + n) = float2{x, y};
    } else {
      pack<typename P::Out, 2> both;
      from_float(both.at[0], p.finish(x, z, m, n));
      from_float(both.at[1], p.finish(y, z, m, n + 1));
      *(pack<typename P::Out, 2> *)(o + (i64)m * P::o_m + n) = both;
    }
    return;
  }
  put(p, o, part, z, m, n, x);
  put(p, o, part, z, m, n + 1, y);
}

/* Results of a warp that lie in its shared memory, [rows][cols + pad], from (m, n) on. A loop
   finishes them, so that the text of an epilogue stands once and rows are stored whole. */
template <int rows, int cols, int pad, class P> INLINE void put_rows(const P &p, typename P::Out *o, float *part, int z, int m, int n, const float *room) {
  __syncwarp();
#pragma unroll 1
  for (int u = threadIdx.x % 32; u < rows * cols / 2; u += 32) {
    const int r = u / (cols / 2), c = u % (cols / 2) * 2;
    const float2 x = *(const float2 *)(room + r * (cols + pad) + c);
    put2(p, o, part, z, m + r, n + c, x.x, x.y);
  }
  __syncwarp();
}

/* Eight neighbours. */
template <class P> INLINE void put8(const P &p, typename P::Out *o, float *part, int z, int m, int n, const float (&x)[8]) {
  if (P::o_eights && P::slices == 1) {
    if (m >= P::M || n >= P::N) return;
    pack<typename P::Out, 8> all;
#pragma unroll
    for (int j = 0; j < 8; j++) from_float(all.at[j], p.finish(x[j], z, m, n + j));
    *(pack<typename P::Out, 8> *)(o + (i64)m * P::o_m + n) = all;
  } else {
#pragma unroll
    for (int j = 0; j < 8; j += 2) put2(p, o, part, z, m, n + j, x[j], x[j + 1]);
  }
}

/* 16 rows that are sums of tensor cores, eight columns after the other, by way of the warp's
   shared memory, so that a thread has eight neighbours of a row. */
template <int eights, class P> INLINE void put_sums(const P &p, typename P::Out *o, float *part, int z, int m, int n, const float *sum, float *room) {
  constexpr int cols = eights * 8, pad = 8;
  const int lane = threadIdx.x % 32;
  float *to = room + lane / 4 * (cols + pad) + lane % 4 * 2;
#pragma unroll
  for (int j = 0; j < eights; j++) {
    *(float2 *)(to + j * 8) = float2{sum[j * 4], sum[j * 4 + 1]};
    *(float2 *)(to + j * 8 + 8 * (cols + pad)) = float2{sum[j * 4 + 2], sum[j * 4 + 3]};
  }
  __syncwarp();
#pragma unroll 1
  for (int u = lane; u < 16 * eights; u += 32) {
    const int r = u / eights, c = u % eights * 8;
    float x[8];
    *(float4 *)x = *(const float4 *)(room + r * (cols + pad) + c);
    *(float4 *)(x + 4) = *(const float4 *)(room + r * (cols + pad) + c + 4);
    put8(p, o, part, z, m + r, n + c, x);
  }
  __syncwarp();
}

/* The block of results of this block of threads: neighbours in time share columns and a
   band of rows, so that what they read is in the second cache. */
template <class P> INLINE void place_block(int at, int &row, int &column) {
  constexpr int rows = (P::M + P::BM - 1) / P::BM, columns = (P::N + P::BN - 1) / P::BN, band = P::band;
  const int first = at / (band * columns) * band, height = min(band, rows - first), in = at % (band * columns);
  row = (first + in % height) * P::BM;
  column = in / height * P::BN;
}

#if __CUDA_ARCH__ >= 900
INLINE void meet_cluster() { asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory"); }

/* Numbers in the shared memory of another block of the cluster. */
INLINE unsigned of_block(const float *at, int block) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(at)), "r"(block));
  return there;
}
INLINE float from_block(const float *at, int block) {
  float x;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(of_block(at, block)) : "memory");
  return x;
}
INLINE float4 four_from_block(const float *at, int block) {
  float4 x;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w) : "r"(of_block(at, block)) : "memory");
  return x;
}
#else
INLINE void meet_cluster() {}
INLINE float from_block(const float *at, int) { return *at; }
INLINE float4 four_from_block(const float *at, int) { return *(const float4 *)at; }
#endif

/* The blocks of a cluster have slices of k. Each finishes a share of the results, with the
   sums of all blocks in order, which lie in their shared memory as [BM][BN + 4]. */
template <class P> INLINE void join_cluster(const P &p, typename P::Out *o, int z, int row, int column, const float *sums) {
  constexpr int line = P::BN / 4, all = P::BM * line, each = (all + P::cluster - 1) / P::cluster;
  meet_cluster();
  const int last = min(all, (int)(blockIdx.y + 1) * each);
#pragma unroll 1
  for (int u = blockIdx.y * each + threadIdx.x; u < last; u += P::threads) {
    const int m = u / line, n = u % line * 4;
    if (row + m >= P::M || column + n >= P::N) continue;
    float4 sum{0, 0, 0, 0};
#pragma unroll
    for (int s = 0; s < P::cluster; s++) {
      const float4 x = four_from_block(sums + m * (P::BN + 4) + n, s);
      sum.x += x.x; sum.y += x.y; sum.z += x.z; sum.w += x.w;
    }
    put2(p, o, nullptr, z, row + m, column + n, sum.x, sum.y);
    put2(p, o, nullptr, z, row + m, column + n + 2, sum.z, sum.w);
  }
  meet_cluster(); /* nobody leaves while others read its sums */
}

/* Adds up the slices in order and finishes the sums. */
template <class P> INLINE void join_slices(const P &p, typename P::Out *o, const float *part) {
  constexpr i64 each = (i64)P::M * P::N, all = each * P::batches;
  for (i64 u = (i64)blockIdx.x * blockDim.x + threadIdx.x; u < all; u += (i64)gridDim.x * blockDim.x) {
    float sum = 0;
#pragma unroll
    for (int s = 0; s < P::slices; s++) sum += part[s * all + u];
    const int z = u / each, m = u % each / P::N, n = u % P::N;
    from_float(o[P::o_at(z) + (i64)m * P::o_m + n], p.finish(sum, z, m, n));
  }
}
