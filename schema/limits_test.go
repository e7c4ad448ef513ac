package schema_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
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
		expect.That(t, l.Validate() != nil, "Validate accepts a negative %s", name)
		field.SetInt(1)
		expect.Equal(t, reflect.ValueOf(l.WithDefaults()).Field(i).Int(), 1, "WithDefaults changes %s", name)
		expect.Error(t, fmt.Sprintf("%s 1", name), l.Validate(), nil)
	}
}
