package stage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeepArtifactsStaysInside(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	for _, name := range []string{"r/a.png", "r/d/b.png", "r/c.txt", ".git/e.png", "q/f.png"} {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(from, "r/s.png")); err != nil {
		t.Fatal(err)
	}
	for glob, want := range map[string]int{"r/**/*.png": 2, "r/*.png": 1, "**/*.png": 3, "none/*": 0, "../**": 0, "r/a.png": 1} {
		if files, err := copyMatching(from, filepath.Join(to, strings.ReplaceAll(glob, "/", "_")), glob); err != nil || files != want {
			t.Errorf("%s: %d files, %v", glob, files, err)
		}
	}
}
