package folder

import "golang.org/x/sys/unix"

// hasTrueTimes reports whether fd lies on a file system that gives every change
// of a file a new ctime from this machine's clock. Network and foreign file
// systems do not promise it, nor does one in memory for shared mappings.
func hasTrueTimes(fd int) bool {
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.OVERLAYFS_SUPER_MAGIC:
		return true
	}
	return false
}
