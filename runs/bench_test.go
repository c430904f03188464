package runs

import "testing"

func BenchmarkSaveStage(b *testing.B) {
	d := OpenDir(osDisk, b.TempDir(), "runs", reqID, runID, suffixes())
	if err := d.Create(); err != nil {
		b.Fatal(err)
	}
	s := NewStage(reqID, runID, "A title", t0)
	s.SetPlan(planOf(3), t0)
	save := func(b *testing.B) {
		if err := d.SaveStage(s); err != nil {
			b.Fatal(err)
		}
	}
	save(b)
	b.Run("progress", func(b *testing.B) {
		for b.Loop() {
			save(b)
		}
	})
	b.Run("synced", func(b *testing.B) {
		for b.Loop() {
			d.synced = mark{}
			save(b)
		}
	})
}

func BenchmarkLatest(b *testing.B) {
	d := OpenDir(osDisk, b.TempDir(), "runs", reqID, runID, suffixes())
	if err := d.Create(); err != nil {
		b.Fatal(err)
	}
	s := NewStage(reqID, runID, "A title", t0)
	s.SetPlan(planOf(3), t0)
	if err := d.SaveStage(s); err != nil {
		b.Fatal(err)
	}
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			if _, err := Latest(d.Root, "runs", reqID); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("absent", func(b *testing.B) {
		for b.Loop() {
			if _, err := ListRequestsWithRuns(d.Root, "none"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
