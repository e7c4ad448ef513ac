package schema_test

import (
	"reflect"
	"testing"

	"github.com/formsvc/formsvc/schema"
)

// A field of Limits that Validate or WithDefaults leaves out is found.
func TestLimitsCoverEveryField(t *testing.T) {
	defaults := reflect.ValueOf(schema.Limits{}.WithDefaults())
	for i := range defaults.NumField() {
		name := defaults.Type().Field(i).Name
		if defaults.Field(i).Int() <= 0 {
			t.Errorf("WithDefaults leaves %s at %d", name, defaults.Field(i).Int())
		}
		var l schema.Limits
		field := reflect.ValueOf(&l).Elem().Field(i)
		field.SetInt(-1)
		if l.Validate() == nil {
			t.Errorf("Validate accepts a negative %s", name)
		}
		field.SetInt(1)
		if got := reflect.ValueOf(l.WithDefaults()).Field(i).Int(); got != 1 {
			t.Errorf("WithDefaults makes %d of %s 1", got, name)
		}
		if err := l.Validate(); err != nil {
			t.Errorf("%s 1: %v", name, err)
		}
	}
}
