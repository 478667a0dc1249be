// SPDX-License-Identifier: Apache-2.0
// The results of the repository's studies. CMake gives the path.
  .section .rodata
  .global kappascope_results_begin
  .global kappascope_results_end
kappascope_results_begin:
  .incbin KAPPASCOPE_RESULTS
kappascope_results_end:
  .section .note.GNU-stack, "", @progbits
