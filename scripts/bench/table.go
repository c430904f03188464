package main

import "fmt"

// table prints as it goes, so that a long bench shows what it has.
type table struct{}

func (table) head(title string) {
	fmt.Printf("\n%s\n  %-44s %10s %10s %18s  %s\n", title, "", "median ms", "least ms", "ratio", "promised")
}

func (table) row(name, median, least, ratio, promise string) {
	fmt.Printf("  %-44s %10s %10s %18s  %s\n", name, median, least, ratio, promise)
}
