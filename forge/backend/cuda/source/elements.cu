
/* Elements in memory, and numbers for all lanes. */
INLINE vf set_f32(float x) { return x; }
INLINE vi set_i32(i32 x) { return x; }
INLINE vl set_i64(i64 x) { return vl{x, x}; }
INLINE vd set_f64(double x) { return vd{x, x}; }
INLINE vh set_bits16(u16 x) { return vh{x}; }
INLINE float lane0_f32(vf x) { return x.v; }
INLINE i32 lane0_i32(vi x) { return x.v; }
INLINE i64 lane0_i64(vl x) { return x.a.v; }
INLINE double lane0_f64(vd x) { return x.a.v; }
INLINE u16 lane0_bits16(vh x) { return x.v; }
INLINE i32 lane0_bool(vi x) { return x.v; }
#define MEMORY(name, elem, vec, read, written) \
  INLINE vec load_##name(const elem *p) { elem x = *p; return read; } \
  INLINE void store_##name(elem *p, vec x) { *p = written; }
MEMORY(f32, float, vf, x, x.v)
MEMORY(f64, double, vd, set_f64(x), x.a.v)
MEMORY(i64, i64, vl, set_i64(x), x.a.v)
MEMORY(i32, i32, vi, x, x.v)
MEMORY(bits16, u16, vh, vh{x}, x.v)
MEMORY(f16, u16, vf, widen_f16(vh{x}), narrow_f16(x).v)
MEMORY(bf16, u16, vf, widen_bf16(vh{x}), narrow_bf16(x).v)
MEMORY(bool, u8, vi, x ? -1 : 0, x.v & 1)
INLINE vf v_round_f16(vf x) { return widen_f16(narrow_f16(x)); }
INLINE vf v_round_bf16(vf x) { return widen_bf16(narrow_bf16(x)); }

/* Whether an index is in a range. */
INLINE bool inside(i64 at, i64 size) { return (unsigned long long)at < (unsigned long long)size; }

/* Copies neighbours, which begin at a multiple of as many bytes, at once. */
template <int bytes> INLINE void move_(void *to, const void *from) {
  if (bytes % 16 == 0)
    for (int i = 0; i < bytes / 16; i++) ((uint4 *)to)[i] = ((const uint4 *)from)[i];
  else if (bytes % 8 == 0)
    for (int i = 0; i < bytes / 8; i++) ((uint2 *)to)[i] = ((const uint2 *)from)[i];
  else if (bytes % 4 == 0)
    for (int i = 0; i < bytes / 4; i++) ((unsigned *)to)[i] = ((const unsigned *)from)[i];
  else
    for (int i = 0; i < bytes / 2; i++) ((u16 *)to)[i] = ((const u16 *)from)[i];
}

/* READY lets the next kernel begin once all blocks have come so far or have ended, and AWAIT
   waits until the kernels before are done; a launch may then come before they are (see waits
   in package cuda). Most kernels do both first. Those that bring much do READY when that has
   come: blocks of the next one would else take room and memory's time from them, and not be
   spread evenly. */
#if __CUDA_ARCH__ >= 900
#define READY asm volatile("griddepcontrol.launch_dependents;")
#define AWAIT asm volatile("griddepcontrol.wait;" ::: "memory")
#else
#define READY
#define AWAIT
#endif
#define ENTER do { READY; AWAIT; } while (0)
