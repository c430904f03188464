package runs

import (
	"fmt"
	"os"
)

const requestFile = "request.before.md"

// LogSetup is the log of the commands that prepare a workspace.
const LogSetup = "setup"

// SaveRequest keeps the request file's bytes from before the run set its
// status, so that they can come back whole.
func (d *Dir) SaveRequest(data []byte) error {
	return d.write(d.disk, requestFile, data)
}

// LoadRequest gives what SaveRequest kept.
func (d *Dir) LoadRequest() ([]byte, error) { return read(d.file(requestFile), maxRecord) }

// RequestPath is where commands of the run can read the request, absolute.
func (d *Dir) RequestPath() string { return d.file(requestFile) }

// ResultPath is the file that a role may write its answer to, absolute.
func (d *Dir) ResultPath(stepID string, attempt int) string {
	return d.file(fmt.Sprintf("tmp/%s.attempt%d.result.json", stepID, attempt))
}

// NextAttempt is the number that the next kept attempt of a step gets.
func (d *Dir) NextAttempt(stepID string) int {
	for n := 1; ; n++ {
		if _, err := os.Lstat(d.file(PatchName(stepID, n))); err != nil {
			return n
		}
	}
}
