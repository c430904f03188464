package choose

// Holder is who holds a request's lock; nil when nobody does, or when nobody
// was asked.
func (f Facts) Holder(id string) *Holder {
	if f.Locked == nil {
		return nil
	}
	return f.Locked(id)
}
