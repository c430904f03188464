package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"aiflow/internal/atomicfile"
)

func TestReuse(t *testing.T) {
	dir := t.TempDir()
	path, second := filepath.Join(dir, "file"), filepath.Join(dir, "second")
	for i, text := range []string{"first text", "second"} {
		f, size, err := atomicfile.OS{}.Reuse(path, 0o600)
		if err != nil || size != int64(10*i) {
			t.Fatalf("%d, %v", size, err)
		}
		if _, err := f.Write([]byte(text)); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "secondtext" {
		t.Errorf("%q, %v", data, err)
	}
	if err := (atomicfile.OS{}).Link(path, second); err != nil {
		t.Skip(err)
	}
	if _, _, err := (atomicfile.OS{}).Reuse(path, 0o600); !errors.Is(err, atomicfile.ErrInUse) {
		t.Errorf("with a second name: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if f, _, err := (atomicfile.OS{}).Reuse(second, 0o600); err != nil {
		t.Error(err)
	} else if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := os.Symlink(second, path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := (atomicfile.OS{}).Reuse(path, 0o600); err == nil {
		t.Error("followed a link")
	}
}

// swapping fails an exchange in one way or another, and counts what else is
// done.
type swapping struct {
	atomicfile.OS
	err            error
	late           bool
	renames, swaps int
}

func (d *swapping) Exchange(a, b string) error {
	d.swaps++
	if d.late || d.err == nil {
		if err := d.OS.Exchange(a, b); err != nil {
			return err
		}
	}
	return d.err
}

func (d *swapping) Rename(a, b string) error {
	d.renames++
	return d.OS.Rename(a, b)
}

func TestSwap(t *testing.T) {
	for name, tc := range map[string]struct {
		disk    swapping
		missing bool
		renames int
		want    string
		fails   bool
	}{
		"able":                {swapping{}, false, 0, "new", false},
		"no such call":        {swapping{err: syscall.ENOSYS}, false, 1, "new", false},
		"not on this disk":    {swapping{err: syscall.EINVAL}, false, 1, "new", false},
		"nothing to exchange": {swapping{}, true, 1, "new", false},
		"broken":              {swapping{err: syscall.EIO}, false, 0, "old", true},
		"broken afterwards":   {swapping{err: syscall.EIO, late: true}, false, 0, "new", true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			if !tc.missing {
				if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			d := tc.disk
			err := atomicfile.Write(&d, path, []byte("new"), atomicfile.Options{Volatile: true, TempSuffix: "x", Swap: true})
			data, _ := os.ReadFile(path)
			if (err != nil) != tc.fails || string(data) != tc.want || d.renames != tc.renames || d.swaps != 1 {
				t.Errorf("%v, %q, %d renames, %d exchanges", err, data, d.renames, d.swaps)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
		})
	}
}
