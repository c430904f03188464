package runner

import (
	"context"
	"sync"

	"aiflow/gitops"
)

// ahead begins f beside what follows; f must not touch a job, which goes on. What
// it gives waits for f, and gives the same each time.
func ahead[T any](f func() (T, error)) (wait func() (T, error)) {
	wait = sync.OnceValues(f)
	go func() { _, _ = wait() }()
	return wait
}

// opening opens the repository and finds out who commits. Neither depends on
// the requests, which are read meanwhile.
func (r *Runner) opening(ctx context.Context) func() (*gitops.Repo, error) {
	return ahead(func() (*gitops.Repo, error) {
		repo, err := r.openRepo(ctx)
		if err == nil {
			_, _, err = repo.Identity(ctx)
		}
		return repo, err
	})
}
