package formsvc

import "github.com/formsvc/formsvc/internal/objectid"

// WithIDs gives a service ids that are the same in each run.
func WithIDs(process byte) Option {
	return func(o *options) error {
		o.ids = objectid.NewSourceAt([5]byte{process}, 0)
		return nil
	}
}
