#include "textflag.h"

// DX is the closure's register in Go's calls of functions; arguments stay where
// they are, in registers and on the stack.
#define SLOT(i) \
	PCALIGN $16; \
	MOVQ ·closures+(8*(i))(SB), DX; \
	JMP (DX)

#include "slots.h"
