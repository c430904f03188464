package folder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiflow/reqmeta"
)

// made is a folder of requests: "id status dep,dep key: value; key: value".
func made(lines ...string) *Folder {
	var list []*reqmeta.Request
	for _, line := range lines {
		f := strings.SplitN(line, " ", 4)
		text := "---\nstatus: " + f[1] + "\npriority: P1\n"
		if len(f) > 2 && f[2] != "-" {
			text += "depends_on: [" + f[2] + "]\n"
		}
		if len(f) > 3 {
			text = strings.Replace(text, "priority: P1\n", "", 1) + strings.ReplaceAll(f[3], "; ", "\n") + "\n"
		}
		list = append(list, reqmeta.Parse("requests/"+f[0]+".md", []byte(text+"---\n")))
	}
	return NewFolder("requests", list)
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func kinds(r *reqmeta.Request) (list []string) {
	for _, p := range r.Problems {
		list = append(list, p.Kind)
	}
	return list
}
