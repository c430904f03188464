// Package bundle turns the TypeScript of the page into what browsers and
// Node's test runner load.
//
// It does not check types (tsc does, in CI) and writes no file.
package bundle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// File is a built file, its name relative to server/ui.
type File struct {
	Name string
	Data []byte
}

// entry is a source and where it is built to; both relative to server/ui.
type entry struct {
	source, target string
	how            how
}

type how int

const (
	readable how = iota
	small        // for the page, which nobody reads as built
	copied
)

// entries are everything that is built and committed.
var entries = [...]entry{
	{"src/lib/locks.ts", "package/locks.js", readable},
	{"src/page/main.ts", "dist/page.js", small},
	{"src/page/page.css", "dist/page.css", small},
	{"src/page/index.html", "dist/index.html", copied},
	{"src/page/icon.svg", "dist/icon.svg", copied},
}

const banner = "// Built by `go generate ./server/ui` from server/ui/src. Change it there.\n"

// Build makes every committed file from the sources in dir (server/ui).
func Build(dir string) ([]File, error) {
	files := make([]File, 0, len(entries))
	for _, e := range entries {
		data, err := e.build(dir)
		if err != nil {
			return nil, err
		}
		files = append(files, File{e.target, data})
	}
	return files, nil
}

func (e entry) build(dir string) ([]byte, error) {
	switch e.how {
	case copied:
		return os.ReadFile(filepath.Join(dir, filepath.FromSlash(e.source)))
	case small:
		return compile(dir, e.source, api.PlatformBrowser, true)
	}
	data, err := compile(dir, e.source, api.PlatformBrowser, false)
	return append([]byte(banner), data...), err
}

// Tests makes a module for Node of every test/*.test.ts in dir.
func Tests(dir string) ([]File, error) {
	sources, err := filepath.Glob(filepath.Join(dir, "test", "*.test.ts"))
	if err != nil {
		return nil, err
	}
	files := make([]File, 0, len(sources))
	for _, path := range sources {
		name := filepath.Base(path)
		data, err := compile(dir, filepath.Join("test", name), api.PlatformNode, false)
		if err != nil {
			return nil, err
		}
		files = append(files, File{strings.TrimSuffix(name, ".ts") + ".mjs", data})
	}
	return files, nil
}

func compile(dir, source string, platform api.Platform, minify bool) ([]byte, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	r := api.Build(api.BuildOptions{
		AbsWorkingDir: abs,
		EntryPoints:   []string{source},
		Bundle:        true,
		Format:        api.FormatESModule,
		Platform:      platform,
		Target:        api.ES2022,
		Charset:       api.CharsetUTF8,
		LogLevel:      api.LogLevelSilent,

		MinifyWhitespace: minify, MinifyIdentifiers: minify, MinifySyntax: minify,
	})
	if len(r.Errors) > 0 {
		return nil, failure(r.Errors)
	}
	if len(r.OutputFiles) != 1 {
		return nil, fmt.Errorf("%s became %d files", source, len(r.OutputFiles))
	}
	return r.OutputFiles[0].Contents, nil
}

func failure(messages []api.Message) error {
	texts := api.FormatMessages(messages, api.FormatMessagesOptions{})
	return errors.New(strings.TrimSpace(strings.Join(texts, "\n")))
}
