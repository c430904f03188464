// Command scale computes the tables of docs/scale.md: what the queue's fixed
// schema costs at 10, 10^4, 10^6 and 10^8 tasks a day. It simulates a day
// second by second, from a seed.
//
// It does not talk to a DynamoDB: request units follow from the sizes of items
// and from what package queue sends, prices and limits are those below.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	seed := flag.Uint64("seed", 1, "seed of the simulation")
	flag.Parse()
	fmt.Fprint(os.Stdout, report(*seed))
}
