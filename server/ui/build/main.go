// Command build writes the page's built files; `go generate ./server/ui` runs
// it in server/ui.
//
// It does not check types and does not run in production: what it writes is
// committed and embedded.
package main

import (
	"path/filepath"

	"aiflow/internal/atomicfile"
	"aiflow/server/ui/bundle"
)

func main() {
	files, err := bundle.Build(".")
	if err != nil {
		panic(err)
	}
	for _, f := range files {
		o := atomicfile.Options{TempSuffix: "build"}
		if err := atomicfile.Write(atomicfile.OS{}, filepath.FromSlash(f.Name), f.Data, o); err != nil {
			panic(err)
		}
	}
}
