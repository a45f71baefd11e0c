// Input that is no text: the place of the first bad byte.
// RUN: printf 'func\n  \377' | not pyptoc - 2>&1 | filecheck %s --check-prefix=BYTES
// RUN: printf 'a\000b' | not pyptoc - 2>&1 | filecheck %s --check-prefix=NUL

// BYTES: error[PTO502]: <stdin>:2:3: byte 0xff, not UTF-8
// NUL: error[PTO502]: <stdin>:1:2: a NUL byte
