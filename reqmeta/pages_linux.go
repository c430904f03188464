package reqmeta

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of a large page on the systems that have them.
const hugePage = 2 << 20

// inHugePages asks the kernel to back a large list with large pages, before it
// is touched. Small ones cost a fault each, and places far from each other are
// slow to find in them. It may be refused.
func inHugePages[T any](list []T) []T {
	size := len(list) * int(unsafe.Sizeof(*new(T)))
	if size < 2*hugePage {
		return list
	}
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), size)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(bytes)))) & (hugePage - 1)
	_ = unix.Madvise(bytes[skip:skip+(size-skip)&^(hugePage-1)], unix.MADV_HUGEPAGE)
	return list
}
