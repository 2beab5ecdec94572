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

  /* Moves the channels of one head, turned or as they are. */
  template <int channels, bool turned, i64 in_step, i64 out_step>
  __device__ __forceinline__ void move(const in_elem *x, out_elem *y, i64 position, int lane) const {
    constexpr int pairs = turned ? S::pairs : 0;
    if constexpr (pairs > 0) {
      for (int i = lane; i < pairs; i += 32) {
        const double angle = S::frequency(i) * (double)position;
        const float c = (float)cos(angle), s = (float)sin(angle);
        const int one = S::side_by_side ? 2 * i : i, other = S::side_by_side ? 2 * i + 1 : i + pairs;
        const float a = from::load(x + one * in_step), b = from::load(x + other * in_step);
        to::store(y + one * out_step, from::round(a * c - b * s));
        to::store(y + other * out_step, from::round(b * c + a * s));
      }
    }
    for (int i = 2 * pairs + lane; i < channels; i += 32) to::store(y + i * out_step, from::load(x + i * in_step));
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
      move<S::d, true, S::q_step, S::q_out_step>(q + b * S::q_batch + slot * S::q_head + t * S::q_row, q_out + b * S::q_out_batch + slot * S::q_out_head + t * S::q_out_row, position, lane);
      return;
    }
    const i64 place = place_of(b, position);
    if (place < 0) return;
    const i64 block = place / S::block, row = place % S::block;
    const int g = (slot - S::heads) % S::groups;
    if (slot < S::heads + S::groups)
      move<S::d, true, S::k_step, S::keys_step>(k + b * S::k_batch + g * S::k_head + t * S::k_row, keys + block * S::keys_batch + g * S::keys_head + row * S::keys_row, position, lane);
    else
      move<S::e, false, S::v_step, S::values_step>(v + b * S::v_batch + g * S::v_head + t * S::v_row, values + block * S::values_batch + g * S::values_head + row * S::values_row, position, lane);
  }
};

}  // namespace attention
