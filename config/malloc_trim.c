/*
 * Compiled and linked by the Makefile: does the C library have malloc_trim(),
 * and the figures that go with it (glibc 2.33 and later)?
 */
#include <malloc.h>

int
main(void)
{
	return malloc_trim(0) + (int) mallinfo2().fordblks;
}
