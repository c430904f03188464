// Command hello is what a Go program costs that does not do anything.
package main

import "os"

func main() { os.Stdout.WriteString("hello\n") }
