// SPDX-License-Identifier: Apache-2.0
// What is usual, as experiments/usual/ranges.py wrote it. CMake gives the path.
  .section .rodata
  .global kappascope_usual_begin
  .global kappascope_usual_end
kappascope_usual_begin:
  .incbin KAPPASCOPE_USUAL
kappascope_usual_end:
  .section .note.GNU-stack, "", @progbits
