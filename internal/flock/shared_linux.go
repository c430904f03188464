package flock

import "golang.org/x/sys/unix"

// isShared knows the file systems that may be mounted on several machines.
// What cannot be told counts as shared.
func isShared(dir string) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return true
	}
	const (
		cifs   = 0xFF534D42
		smb2   = 0xFE534D42
		ceph   = 0x00C36400
		gfs2   = 0x01161970
		lustre = 0x0BD00BD0
		vboxsf = 0x786F4256
	)
	switch uint32(st.Type) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, cifs, smb2, unix.FUSE_SUPER_MAGIC,
		unix.V9FS_MAGIC, unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC, unix.CODA_SUPER_MAGIC,
		unix.OCFS2_SUPER_MAGIC, ceph, gfs2, lustre, vboxsf:
		return true
	}
	return false
}
