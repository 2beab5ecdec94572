/* A team: the caller and some helpers that share the units of one kernel at a
   time. Units are cut into chunks, and whoever is free claims the next one. The
   caller claims too, until none is left, and waits only for chunks that others
   have begun: a helper that gets no processor costs nothing but its chunk.

   A helper without work looks for some for a while, giving way to whoever else
   wants its processor, and then sleeps. */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef void work(char *const *p, const int *stop, long from, long to);
typedef long long nanoseconds;

enum {
  CHUNKS = 8,             /* at most, for each thread */
  CLAIMS = 0xffff,        /* the part of a ticket that counts unclaimed chunks */
  SPINS = 200,            /* looks at memory before a thread gives way */
  IDLE = 100 * 1000,      /* ns without work after which a helper sleeps */
  LATE = 3 * 1000,        /* ns that the caller waits beyond its own share before it takes offence */
  REST = 16,              /* times what was lost, the caller then works alone, */
  LONGEST = 500 * 1000000 /* and no longer than this many ns */
};

struct team {
  void (*share)(struct team *, work *, char *const *, const int *, long, long); /* first: programs call it */
  int helpers;
  nanoseconds rest; /* until when the caller works alone */
  /* The job. It changes when all its chunks are done, and is read by those who
     have claimed one. */
  work *function;
  char *const *p;
  const int *stop;
  long units, chunks;
  _Alignas(64) unsigned long ticket; /* number of the job, and its unclaimed chunks */
  _Alignas(64) long left;            /* chunks that are not done */
  _Alignas(64) int sleepers;
  int wake; /* sleepers wait for it to change */
  int quit;
};

#define GET(field, order) __atomic_load_n(&(field), __ATOMIC_##order)

static nanoseconds now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * (nanoseconds)1000000000 + t.tv_nsec;
}

static inline void pause_(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static inline long least(long a, long b) { return a < b ? a : b; }

/* wake wakes some sleepers. */
static void wake(struct team *t, int count) {
  __atomic_fetch_add(&t->wake, 1, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, &t->wake, FUTEX_WAKE_PRIVATE, count, 0, 0, 0);
}

/* claim does chunks until all are claimed. */
static void claim(struct team *t) {
  unsigned long ticket = GET(t->ticket, ACQUIRE);
  while (ticket & CLAIMS) {
    if (!__atomic_compare_exchange_n(&t->ticket, &ticket, ticket - 1, 1, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) continue;
    long chunk = t->chunks - (long)(ticket & CLAIMS);
    t->function(t->p, t->stop, t->units * chunk / t->chunks, t->units * (chunk + 1) / t->chunks);
    __atomic_fetch_sub(&t->left, 1, __ATOMIC_RELEASE);
    ticket = GET(t->ticket, ACQUIRE);
  }
}

/* share does a kernel whose chunks should have grain units. */
static void share(struct team *t, work *function, char *const *p, const int *stop, long units, long grain) {
  long chunks = least(units / grain, CHUNKS * (1 + t->helpers));
  nanoseconds begun = now();
  if (chunks < 2 || begun < t->rest) {
    function(p, stop, 0, units);
    return;
  }
  t->function = function, t->p = p, t->stop = stop, t->units = units, t->chunks = chunks;
  __atomic_store_n(&t->left, chunks, __ATOMIC_RELAXED);
  __atomic_store_n(&t->ticket, (t->ticket | CLAIMS) + 1 + chunks, __ATOMIC_SEQ_CST);
  if (GET(t->sleepers, SEQ_CST)) wake(t, chunks - 1);
  claim(t);
  if (!GET(t->left, ACQUIRE)) return;
  nanoseconds alone = now();
  for (int spins = 0; GET(t->left, ACQUIRE); spins++) {
    if (spins < SPINS) pause_();
    else sched_yield();
  }
  /* Others want the processors when chunks take longer than the caller's own
     work did. */
  nanoseconds done = now(), lost = done - alone;
  if (lost > alone - begun + LATE) t->rest = done + least(REST * lost, LONGEST);
}

/* found looks for work for a while and does it. */
static int found(struct team *t) {
  for (int i = 0; i < SPINS; i++) {
    if (GET(t->ticket, RELAXED) & CLAIMS) {
      claim(t);
      return 1;
    }
    pause_();
  }
  return 0;
}

static void sleep_(struct team *t) {
  int seen = GET(t->wake, SEQ_CST);
  __atomic_fetch_add(&t->sleepers, 1, __ATOMIC_SEQ_CST);
  if (!(GET(t->ticket, SEQ_CST) & CLAIMS) && !GET(t->quit, SEQ_CST)) syscall(SYS_futex, &t->wake, FUTEX_WAIT_PRIVATE, seen, 0, 0, 0);
  __atomic_fetch_sub(&t->sleepers, 1, __ATOMIC_SEQ_CST);
}

/* forge_team_help is the life of a helper. */
void forge_team_help(struct team *t) {
  for (nanoseconds idle = now(); !GET(t->quit, ACQUIRE);) {
    if (found(t)) {
      idle = now();
    } else if (now() - idle < IDLE) {
      sched_yield();
    } else {
      sleep_(t);
      idle = now();
    }
  }
}

struct team *forge_team_new(int helpers) {
  struct team *t = aligned_alloc(64, sizeof *t);
  if (t) *t = (struct team){.share = share, .helpers = helpers};
  return t;
}

/* forge_team_dismiss ends the helpers, after which the team may be freed. */
void forge_team_dismiss(struct team *t) {
  __atomic_store_n(&t->quit, 1, __ATOMIC_SEQ_CST);
  wake(t, INT_MAX);
}

void forge_team_free(struct team *t) { free(t); }
