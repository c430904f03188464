// Command floor lists a folder and asks for the status of each file: the least
// that any reader of the folder can cost. It does not open a file.
package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func main() {
	n, err := count(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(n)
}

func count(dir string) (int64, error) {
	d, err := os.Open(dir)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return 0, err
	}
	var total int64
	for _, name := range names {
		var st unix.Stat_t
		if err := unix.Fstatat(int(d.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return 0, err
		}
		total += st.Size
	}
	return total, nil
}
