/* New tokens on their way to attention: queries and keys are turned by their positions,
   and keys and values go to their places in a cache. A warp has one token of one head of
   queries, keys or values. What is wrong with positions or the table is told by the warps
   of the first head. */
namespace attention {

/* Elements by the number of their type: 0 is f32, 2 f16 and 3 bf16. */
template <int type> struct stored { typedef u16 elem; };
template <> struct stored<0> { typedef float elem; };
template <int type> struct element {
  struct shape {
    static constexpr int kind = type;
    typedef float real;
    typedef typename stored<type>::elem elem;
  };
  INLINE float load(const typename shape::elem *p) { return get<shape>(p); }
  INLINE void store(typename shape::elem *p, float x) { *p = narrow<shape>(x); }
  INLINE float round(float x) {
    const typename shape::elem y = narrow<shape>(x);
    return get<shape>(&y);
  }
};

template <class S> struct append {
  static constexpr bool any = true;
  typedef S shape;
  typedef element<S::from> from;
  typedef element<S::kind> to;
  typedef typename from::shape::elem in_elem;
  typedef typename to::shape::elem out_elem;

  const in_elem *q, *k, *v;
  out_elem *q_out, *keys, *values;
  const typename S::table_elem *table;
  const typename S::pos_elem *pos;
  const typename S::length_elem *length;

  __device__ __forceinline__ i64 start(int b) const { return pos[b * S::pos_step]; }
  __device__ __forceinline__ i64 end(int b) const {
    const i64 all = start(b) + S::tokens;
    if constexpr (S::bounded) {
      const i64 n = length[b * S::length_step];
      return n < all ? n : all;
    }
    return all;
  }

  /* The place of a position in the cache, in rows of one head: block and row in one number;
     below 0 where there is none. */
  __device__ __forceinline__ i64 place_of(int b, i64 position) const {
    if (position < 0 || position >= S::capacity || position >= end(b)) return -1;
    if constexpr (!S::paged) return b * S::block + position;
    const i64 entry = table[b * S::table_row + position / S::block * S::table_step];
    return entry < 0 || entry >= S::blocks ? -1 : entry * S::block + position % S::block;
  }

  /* Whether something is wrong with token t of row b, or with the table of its row. */
  __device__ __forceinline__ bool wrong(int b, int t, int lane) const {
    bool bad = start(b) < 0 || start(b) > S::capacity;
    if constexpr (S::bounded) {
      const i64 n = length[b * S::length_step];
      bad = bad || n < 0 || n > S::capacity;
    }
    const bool real = end(b) > start(b);
    bad = bad || real && end(b) > S::capacity;
    if constexpr (S::paged) {
      if (real && !bad && t == 0)
        for (i64 i = lane; i * S::block < end(b); i += 32) {
          const i64 entry = table[b * S::table_row + i * S::table_step];
          bad = bad || entry < 0 || entry >= S::blocks;
        }
      const i64 own = place_of(b, start(b) + t);
      const int number = b * S::tokens + t;
      if (own >= 0)
        for (int i = lane; i < number; i += 32) bad = bad || place_of(i / S::tokens, start(i / S::tokens) + i % S::tokens) == own;
    }
    return bad;
  }

  /* The cosine and the sine of pair i at a position. */
  static __device__ __forceinline__ float2 turn(int i, i64 position) {
    const double angle = S::frequency(i) * (double)position;
    return float2{(float)cos(angle), (float)sin(angle)};
  }

  /* The channels of one head on their way, shared by the lanes of a warp: all are read
     before the first is stored. Those that have no pair stay as they are. */
  template <int channels, bool turned> struct head {
    static constexpr int pairs = turned ? S::pairs : 0, turns = (pairs + 31) / 32, rests = (channels - 2 * pairs + 31) / 32;
    float a[turns > 0 ? turns : 1], b[turns > 0 ? turns : 1], rest[rests > 0 ? rests : 1];

    static __device__ __forceinline__ int one(int i) { return S::side_by_side ? 2 * i : i; }
    static __device__ __forceinline__ int other(int i) { return S::side_by_side ? 2 * i + 1 : i + pairs; }
    __device__ __forceinline__ void load(const in_elem *x, i64 step, int lane) {
#pragma unroll
      for (int n = 0; n < turns; n++) {
        const int i = lane + 32 * n;
        if (i < pairs) a[n] = from::load(x + one(i) * step), b[n] = from::load(x + other(i) * step);
      }
#pragma unroll
      for (int n = 0; n < rests; n++) {
        const int i = 2 * pairs + lane + 32 * n;
        if (i < channels) rest[n] = from::load(x + i * step);
      }
    }
    template <class F> __device__ __forceinline__ void store(out_elem *y, i64 step, int lane, F turn) const {
#pragma unroll
      for (int n = 0; n < turns; n++) {
        const int i = lane + 32 * n;
        if (i >= pairs) break;
        const float2 t = turn(i);
        to::store(y + one(i) * step, from::round(a[n] * t.x - b[n] * t.y));
        to::store(y + other(i) * step, from::round(b[n] * t.x + a[n] * t.y));
      }
#pragma unroll
      for (int n = 0; n < rests; n++) {
        const int i = 2 * pairs + lane + 32 * n;
        if (i < channels) to::store(y + i * step, rest[n]);
      }
    }
  };

  /* Where the channels of a head of token t of row b begin, and where they go. */
  __device__ __forceinline__ const in_elem *q_at(int b, int h, int t) const { return q + b * S::q_batch + h * S::q_head + t * S::q_row; }
  __device__ __forceinline__ const in_elem *k_at(int b, int g, int t) const { return k + b * S::k_batch + g * S::k_head + t * S::k_row; }
  __device__ __forceinline__ const in_elem *v_at(int b, int g, int t) const { return v + b * S::v_batch + g * S::v_head + t * S::v_row; }
  __device__ __forceinline__ out_elem *key_at(i64 place, int g) const { return keys + place / S::block * S::keys_batch + g * S::keys_head + place % S::block * S::keys_row; }
  __device__ __forceinline__ out_elem *value_at(i64 place, int g) const { return values + place / S::block * S::values_batch + g * S::values_head + place % S::block * S::values_row; }

  /* Moves the channels of one head, turned or as they are. */
  template <int channels, bool turned> __device__ __forceinline__ void move(const in_elem *x, i64 in_step, out_elem *y, i64 out_step, i64 position, int lane) const {
    head<channels, turned> h;
    h.load(x, in_step, lane);
    h.store(y, out_step, lane, [&](int i) { return turn(i, position); });
  }

  __device__ __forceinline__ void run(int *fault, int step) const {
    constexpr int slots = S::heads + 2 * S::groups;
    const int lane = threadIdx.x % 32;
    const int at = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (at >= S::batches * S::tokens * slots) return;
    const int slot = at % slots, t = at / slots % S::tokens, b = at / slots / S::tokens;
    const i64 position = start(b) + t;
    if (slot == 0 && wrong(b, t, lane)) atomicMin(fault, step);
    if (slot < S::heads) {
      move<S::d, true>(q_at(b, slot, t), S::q_step, q_out + b * S::q_out_batch + slot * S::q_out_head + t * S::q_out_row, S::q_out_step, position, lane);
      return;
    }
    const i64 place = place_of(b, position);
    if (place < 0) return;
    const int g = (slot - S::heads) % S::groups;
    if (slot < S::heads + S::groups) move<S::d, true>(k_at(b, g, t), S::k_step, key_at(place, g), S::keys_step, position, lane);
    else move<S::e, false>(v_at(b, g, t), S::v_step, value_at(place, g), S::values_step, position, lane);
  }
};

}  // namespace attention
