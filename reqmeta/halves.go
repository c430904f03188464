package reqmeta

import "sync"

// manyRequests is how many are worth a second goroutine.
const manyRequests = 4096

// halves does work for all numbers below n: for many of them in two goroutines,
// each with one half. part is 0 or 1.
func halves(n int, work func(part, from, to int)) {
	if n < manyRequests {
		work(0, 0, n)
		return
	}
	both(n, func() { work(0, 0, n/2) }, func() { work(1, n/2, n) })
}

// both does two things that are about n requests: for many at the same time. A
// panic of either is the caller's.
func both(n int, a, b func()) {
	if n < manyRequests {
		a()
		b()
		return
	}
	var wg sync.WaitGroup
	var failed any
	wg.Go(func() {
		defer func() { failed = recover() }()
		b()
	})
	a()
	wg.Wait()
	if failed != nil {
		panic(failed)
	}
}
