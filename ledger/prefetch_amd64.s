//go:build !purego

#include "textflag.h"

// func prefetchLines(at []unsafe.Pointer)
TEXT ·prefetchLines(SB), NOSPLIT, $0-24
	MOVQ at_base+0(FP), SI
	MOVQ at_len+8(FP), CX
	TESTQ CX, CX
	JZ done
loop:
	MOVQ (SI), AX
	PREFETCHT0 (AX)
	ADDQ $8, SI
	DECQ CX
	JNZ loop
done:
	RET
