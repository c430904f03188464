package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aiflow/project/serving"
	"aiflow/reqmeta"
)

func TestMask(t *testing.T) {
	stars := func(n int) string { return strings.Repeat("*", n) }
	for in, want := range map[string]string{
		"nothing to hide":                                "nothing to hide",
		"AKIAIOSFODNN7EXAMPLE":                           stars(20),
		"aws_secret_access_key = wJalrXUtn7FEMI/K7MDENG": "aws_secret_access_key = " + stars(22),
		"https://me:s3cr3t@host/x":                       "https://" + stars(9) + "@host/x",
		"Authorization: Bearer abc123def456":             "Authorization: Bearer " + stars(12),
		`{"password":"hunter2222"}`:                      `{"password":"` + stars(10) + `"}`,
		`{\"api_key\":\"hunter2222\"}`:                   `{\"api_key\":\"` + stars(10) + `\"}`,
		"token ghp_" + strings.Repeat("a1", 18):          "token " + stars(40),
		"password: string":                               "password: string",
		"the secret of success is simple":                "the secret of success is simple",
		"git@github.com:owner/repo.git":                  "git@github.com:owner/repo.git",
		"-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nrest": stars(31) + "\n" + stars(3) + "\n" + stars(29) + "\nrest",
		"key sk-" + strings.Repeat("a1", 12) + ", x":                                "key " + stars(27) + ", x",
	} {
		if got := string(mask([]byte(in), true)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := string(mask([]byte(`const password = "hunter2222" // AKIAIOSFODNN7EXAMPLE`), false)); got != `const password = "hunter2222" // `+stars(20) {
		t.Errorf("%q", got)
	}
}

// Whatever part of a log is read, it is that part of the whole.
func TestMaskedPartsFitTogether(t *testing.T) {
	var text bytes.Buffer
	for i := range 4000 {
		fmt.Fprintf(&text, "line %d token=abcdef%d AKIAIOSFODNN7EXAMPLE end\n", i, i)
	}
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := mask(text.Bytes(), true)
	got, err := io.ReadAll(&masked{f: f, size: int64(text.Len())})
	if err != nil || !bytes.Equal(got, want) || bytes.Contains(got, []byte("AKIA")) {
		t.Fatalf("%v, %d bytes", err, len(got))
	}
	for from := 1; from < text.Len()-100; from += 31013 {
		m := &masked{f: f, size: int64(text.Len())}
		if _, err := m.Seek(int64(from), io.SeekStart); err != nil {
			t.Fatal(err)
		}
		part := make([]byte, 100)
		if _, err := io.ReadFull(m, part); err != nil || !bytes.Equal(part, want[from:from+100]) {
			t.Fatalf("at %d: %q, want %q (%v)", from, part, want[from:from+100], err)
		}
	}
}

func TestSweepFindsWhatInotifyFinds(t *testing.T) {
	for name, open := range map[string]func(string) notifier{"inotify": newNotifier, "sweep": newSweep} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put := func(name, text string) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			put("a.md", "1")
			put("b.md", "1")
			n := open(dir)
			defer n.close()
			changed := func(want ...string) {
				t.Helper()
				names, all, ok := n.changes()
				names = slices.DeleteFunc(names, func(n string) bool { return !reqmeta.IsRequest(n) })
				slices.Sort(names)
				if names = slices.Compact(names); !slices.Equal(names, want) || all || !ok {
					t.Errorf("%v %v %v, want %v", names, all, ok, want)
				}
			}
			changed()
			put("a.md", "22")
			put("c.md", "1")
			put(".d.md.swp", "1")
			changed("a.md", "c.md")
			changed()
			if err := os.Remove(filepath.Join(dir, "b.md")); err != nil {
				t.Fatal(err)
			}
			put("new", "333")
			if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "c.md")); err != nil {
				t.Fatal(err)
			}
			changed("b.md", "c.md")
			// Files of sub-folders are told too; a folder that comes makes all look new.
			if err := os.MkdirAll(filepath.Join(dir, "sub/deep"), 0o700); err != nil {
				t.Fatal(err)
			}
			if _, all, ok := n.changes(); name == "inotify" && (!all || ok) {
				t.Error("a new folder, and nobody says so")
			}
			n = open(dir)
			defer n.close()
			put("sub/deep/d.md", "1")
			changed("sub/deep/d.md")
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if _, all, ok := n.changes(); !all || ok {
				t.Error("the folder is gone, and nobody says so")
			}
		})
	}
}

func TestToken(t *testing.T) {
	w := newWorld(t, nil)
	one, err := serving.TokenOf(w.p, false)
	if err != nil || len(one) != 64 {
		t.Fatal(one, err)
	}
	id := serving.Identity{PID: 1, Host: "127.0.0.1", Port: 4310, Token: one, StartedAt: time.Unix(0, 0).UTC()}
	if err := serving.Save(w.p, id); err != nil {
		t.Fatal(err)
	}
	path := w.path(".aiflow/cache/serve.json")
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi.Mode(), err)
	}
	if again, _ := serving.TokenOf(w.p, false); again != one {
		t.Error("a restart changes the token")
	}
	if fresh, _ := serving.TokenOf(w.p, true); fresh == one {
		t.Error("--new-token does not")
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if other, _ := serving.TokenOf(w.p, false); other == one {
		t.Error("a token that others could read is kept")
	}
}

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{"127.0.0.1": true, "::1": true, "localhost": true, "127.0.0.2": true, "0.0.0.0": false, "192.168.0.1": false, "example.com": false, "": false} {
		if IsLoopback(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}

// A server that others may reach answers to the address that was connected
// to, and still to no name that it does not know.
func TestHostOfOpenServer(t *testing.T) {
	w := newWorld(t, nil, func(o *Options, _ *http.Server) { o.Host = "0.0.0.0" })
	w.call(200, "GET", "/api/health", "")
	port := fmt.Sprint(w.s.Port)
	if status, _ := w.raw("GET /api/health HTTP/1.1\r\nHost: evil.example:" + port + "\r\nAuthorization: Bearer " + token + "\r\nConnection: close\r\n\r\n"); status != 403 {
		t.Error(status)
	}
}

func TestPathsAreNamedFromTheProject(t *testing.T) {
	for text, want := range map[string]string{
		"/a/b":                       ".",
		"/a/b/c.md":                  "c.md",
		"/a/b/c and '/a/b', /a/b.":   "c and '.', ..",
		"/a/b2/c":                    "/a/b2/c",
		"/a/b-old/c /a/b.old /a/b/d": "/a/b-old/c /a/b.old d",
		"/x/a/b/c":                   "/x/a/b/c",
		"/a/b日/c":                    "/a/b日/c",
		"nothing":                    "nothing",
	} {
		if got := fromDir(text, "/a/b"); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
