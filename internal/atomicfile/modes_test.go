package atomicfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"aiflow/internal/atomicfile"
)

func TestModes(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	for name, tc := range map[string]struct {
		before fs.FileMode // 0: nothing is replaced
		o      atomicfile.Options
		want   fs.FileMode
	}{
		"new":                {0, atomicfile.Options{}, 0o640},
		"kept, wider":        {0o666, atomicfile.Options{}, 0o666},
		"kept, narrower":     {0o400, atomicfile.Options{}, 0o400},
		"kept, executable":   {0o775, atomicfile.Options{}, 0o775},
		"kept, volatile":     {0o664, atomicfile.Options{Volatile: true}, 0o664},
		"private":            {0o666, atomicfile.Options{Perm: 0o600}, 0o600},
		"program":            {0, atomicfile.Options{Perm: 0o777}, 0o750},
		"exact":              {0, atomicfile.Options{Perm: 0o755, Exact: true}, 0o755},
		"exact, over others": {0o600, atomicfile.Options{Perm: 0o755, Exact: true}, 0o755},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			if tc.before != 0 {
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(path, tc.before); err != nil {
					t.Fatal(err)
				}
			}
			tc.o.TempSuffix = "1"
			if err := atomicfile.Write(atomicfile.OS{}, path, []byte("x"), tc.o); err != nil {
				t.Fatal(err)
			}
			fi, err := os.Stat(path)
			if err != nil || fi.Mode() != tc.want {
				t.Errorf("%v, want %v, %v", fi.Mode(), tc.want, err)
			}
		})
	}
}

// Whoever may give files away, or to a group of theirs, does not take them.
func TestOwnerAndGroupAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	if os.Chown(path, 1234, 2345) != nil {
		t.Skip("needs the right to give files away")
	}
	if err := atomicfile.Write(atomicfile.OS{}, path, []byte("x"), atomicfile.Options{TempSuffix: "1"}); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st := fi.Sys().(*syscall.Stat_t); st.Uid != 1234 || st.Gid != 2345 || fi.Mode() != 0o640 {
		t.Errorf("%d:%d %v", st.Uid, st.Gid, fi.Mode())
	}
}
