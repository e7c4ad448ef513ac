// Package formblock says of a form's blocks what both those need who read a page and who draw it.
package formblock

import (
	"iter"
	"math"
	"slices"

	"github.com/formsvc/formsvc/schema"
)

// Walk ranges over blocks and those inside of them, in the order of the page, and says of
// each block whether it is hidden, by itself or by a block that it is in.
func Walk(blocks []schema.Block) iter.Seq2[*schema.Block, bool] {
	return func(yield func(*schema.Block, bool) bool) { walkIn(blocks, false, yield) }
}

func walkIn(blocks []schema.Block, hide bool, yield func(*schema.Block, bool) bool) bool {
	for i := range blocks {
		b := &blocks[i]
		hidden := hide || Properties(b).Hide
		if !yield(b, hidden) || !walkIn(b.Children, hidden, yield) {
			return false
		}
	}
	return true
}

// Properties returns the properties of a block, never nil. They are only read.
func Properties(b *schema.Block) *schema.Properties {
	if b.Properties == nil {
		return &noProperties
	}
	return b.Properties
}

var noProperties schema.Properties

// TakesAnswer reports whether a respondent answers blocks of a type.
func TakesAnswer(kind string) bool { return (&schema.Block{Type: kind}).TakesAnswer() }

// TakesFile reports whether the answer of a block is made of files.
func TakesFile(b *schema.Block) bool {
	return b.Type == schema.TypeFileUpload || b.Type == schema.TypeSignature
}

// TakesSeveral reports whether more than one choice may be made.
func TakesSeveral(b *schema.Block) bool {
	return b.Type == schema.TypeMultipleChoice || b.Type == schema.TypePictureChoice && Properties(b).MultiSelection
}

// Most buttons of a scale, and icons of a rating. A longer one is a number to type.
const (
	maxSteps = 101
	maxIcons = 20
)

// Scale returns the bounds of a rating, an opinion scale or a net promoter score, and how
// many buttons it is drawn as, 0 for none.
func Scale(kind string, p *schema.Properties) (from, to, step float64, buttons int) {
	from, to, step = Or(p.From, 1), Or(p.To, 10), Or(p.ScaleStep, 1)
	switch {
	case kind == schema.TypeRating:
		from, to, step = 1, math.Floor(math.Max(1, Or(p.To, 5))), 1
	case kind == schema.TypeNPS:
		from, to, step = 0, 10, 1
	case step <= 0:
		step = 1
	}
	n := int(math.Floor((to-from)/step+1e-9)) + 1
	if n < 1 || n > maxSteps || kind == schema.TypeRating && n > maxIcons {
		return from, to, step, 0
	}
	return from, to, step, n
}

// IsButtonScale reports whether a block is a scale that is drawn as buttons.
func IsButtonScale(b *schema.Block) bool {
	_, _, _, n := Scale(b.Type, Properties(b))
	return n > 0 && b.Type != schema.TypeNumber
}

// MostDays is how many of the days that a block names are drawn to be chosen from. More days
// are explained.
const MostDays = 50

// ContactParts are the parts of an address or contact in the order in which a person
// is asked for them.
var ContactParts = []string{
	"firstName", "lastName", "email", "phone", "company", "address", "address2", "zip", "city", "state", "country",
}

// ContactPart returns the settings of one part, the zero value where there are none.
func ContactPart(f *schema.AddressFields, part string) (field schema.AddressField) {
	if f == nil {
		return field
	}
	// In the order of ContactParts.
	set := [...]*schema.AddressField{
		f.FirstName, f.LastName, f.Email, f.Phone, f.Company, f.Address, f.Address2, f.Zip, f.City, f.State, f.Country,
	}[slices.Index(ContactParts, part)]
	if set != nil {
		field = *set
	}
	return field
}

// Or is the number that n leads to, the fallback where it leads to none.
func Or(n *float64, fallback float64) float64 {
	if n == nil {
		return fallback
	}
	return *n
}

// Positive returns n where it is above 0, else 0.
func Positive(n *schema.Integer) int {
	if n == nil || *n <= 0 || *n > math.MaxInt32 {
		return 0
	}
	return int(*n)
}
