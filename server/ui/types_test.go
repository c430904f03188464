package ui

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tsc is the compiler that package-lock.json names; `npm ci` in server/ui
// brings it. CI must have it.
func tsc(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("node_modules", "typescript", "bin", "tsc"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("no TypeScript compiler: run npm ci in server/ui")
	}
	t.Skip("no TypeScript compiler: run npm ci in server/ui")
	return ""
}

func runNode(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), need(t, "node"), args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("node %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestTypes(t *testing.T) {
	runNode(t, ".", tsc(t), "--noEmit", "-p", ".")
}

func TestPackageTypesAreUpToDate(t *testing.T) {
	dir := t.TempDir()
	runNode(t, ".", tsc(t), "-p", "tsconfig.types.json", "--outDir", dir)
	for _, pattern := range []string{"*.d.ts", "locks/*.d.ts"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, f := range files {
			rel, _ := filepath.Rel(dir, f)
			want, _ := os.ReadFile(f)
			have, err := os.ReadFile(filepath.Join("package", rel))
			if err != nil || string(have) != string(want) {
				t.Errorf("package/%s is not what the sources make: run npm run types in server/ui", rel)
			}
		}
	}
}

const consumer = `
import { acquireProjectLock, createProjectLockApi, httpStore, isProjectLockError, type ProjectLockEvent } from 'aiflow-project-lock';
const api = createProjectLockApi({ store: httpStore('/api/project-lock') });
const off: () => void = api.subscribeLockEvents((e: ProjectLockEvent) => void e.type);
export async function save(write: () => Promise<void>): Promise<string> {
  try {
    return await api.withProjectLock(async (lease) => (lease.assertWritable(), await write(), lease.leaseId));
  } catch (e) {
    return isProjectLockError(e) ? e.code : 'other';
  }
}
void acquireProjectLock; off();
`

// The package works for somebody who installed it.
func TestPackageIsUsable(t *testing.T) {
	compiler := tsc(t)
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "node_modules", "aiflow-project-lock"), os.DirFS("package")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"package.json": `{"type":"module"}`, "use.ts": consumer} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	runNode(t, dir, compiler, "--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom", "use.ts")
	const ask = `import('aiflow-project-lock').then((m) => console.log(typeof m.withProjectLock))`
	if out := runNode(t, dir, "--input-type=module", "-e", ask); out != "function\n" {
		t.Errorf("importing it gave %q", out)
	}
}
