/* Instructions of the tensor cores from sm_80 on. */
namespace attention {

/* c += a * b for 16 x 16 by 16 x 8 elements of half precision. */
template <class S> INLINE void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  if constexpr (S::kind == 3)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* The wide products of sm_90a, for a type of elements and so many columns; see wgmma.go. */
template <int kind, int columns> struct wide_scores;
template <int kind, int columns> struct wide_values;

INLINE unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

/* Four 8 x 8 matrices, whose rows the lanes name eight by eight. */
INLINE void ldmatrix(unsigned (&r)[4], unsigned at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
}
INLINE void ldmatrix_turned(unsigned (&r)[4], unsigned at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
}

/* Copies 16 bytes to shared memory while the thread goes on; zeros when bytes is 0. */
INLINE void copy16(unsigned to, const void *from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
}
INLINE void copies_begun() { asm volatile("cp.async.commit_group;"); }
template <int left> INLINE void copies_done() { asm volatile("cp.async.wait_group %0;" ::"n"(left)); }

}  // namespace attention
