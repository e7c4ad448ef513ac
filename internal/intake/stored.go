package intake

import (
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

var (
	storedTime     = regexp.MustCompile(`^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$`)
	storedAmount   = regexp.MustCompile(`^\d+(\.\d+)?$`)
	storedCurrency = regexp.MustCompile(`^[A-Z]{3}$`)
)

// isStored reports whether a value has the shape that the API describes for a type of answer.
func isStored(fieldType string, n jsontree.Node) bool {
	switch known, _ := schema.LookupBlockType(fieldType); {
	case fieldType == schema.TypeHidden, known.Shape == schema.ShapeText:
		return n.Kind() == jsontree.String
	case fieldType == schema.TypeVariable:
		return n.Kind() == jsontree.String || n.Kind() == jsontree.Number
	case fieldType == schema.TypePictureChoice:
		return isChoice(n) || all(n, jsontree.Array, isChoice)
	default:
		check := storedShapes[known.Shape]
		return check != nil && check(n)
	}
}

var storedShapes = map[schema.AnswerShape]func(jsontree.Node) bool{
	schema.ShapeNumber:  func(n jsontree.Node) bool { return n.Kind() == jsontree.Number },
	schema.ShapeInteger: isInteger,
	schema.ShapeBoolean: func(n jsontree.Node) bool { return n.Kind() == jsontree.Bool },
	schema.ShapeChoice:  isChoice,
	schema.ShapeChoices: func(n jsontree.Node) bool { return all(n, jsontree.Array, isChoice) },
	schema.ShapeRanking: func(n jsontree.Node) bool { return all(n, jsontree.Array, isListed) },
	schema.ShapeMatrix: func(n jsontree.Node) bool {
		return all(n, jsontree.Object, func(row jsontree.Node) bool { return isListed(row) || all(row, jsontree.Array, isListed) })
	},
	schema.ShapeDate: func(n jsontree.Node) bool {
		_, err := time.Parse(time.DateOnly, n.Text())
		_, ok := jsontree.ParseTime(n.Text())
		return n.Kind() == jsontree.String && (err == nil || ok)
	},
	schema.ShapeTime:  func(n jsontree.Node) bool { return n.Kind() == jsontree.String && storedTime.MatchString(n.Text()) },
	schema.ShapeFiles: func(n jsontree.Node) bool { return all(n, jsontree.Array, isFile) },
	schema.ShapeFile:  isFile,
	schema.ShapeContact: func(n jsontree.Node) bool {
		return hasTexts(n, 0, "firstName", "lastName", "email", "phone", "company", "address", "address2", "city", "state", "zip", "country")
	},
	schema.ShapePayment: func(n jsontree.Node) bool {
		return hasTexts(n, 4, "amount", "currency", "status", "gateway", "reference") &&
			storedAmount.MatchString(n.Member("amount").Text()) && storedCurrency.MatchString(n.Member("currency").Text())
	},
}

// isMetadata reports whether a value has the shape that the API describes for metadata.
func isMetadata(n jsontree.Node) bool {
	return hasFields(n, 0, "country", "device", "user_agent", "utm", "imported") && all(n, jsontree.Object, func(field jsontree.Node) bool {
		switch field.Name() {
		case "utm":
			return hasTexts(field, 0, utmNames[:]...)
		case "imported":
			return field.Bool()
		}
		return field.Kind() == jsontree.String
	})
}

func isListed(n jsontree.Node) bool { return hasTexts(n, 2, "id", "label") }

func isChoice(n jsontree.Node) bool { return isListed(n) || hasTexts(n, 1, "other") }

func isFile(n jsontree.Node) bool {
	return hasFields(n, 5, "id", "name", "url", "mime_type", "size") && all(n, jsontree.Object, func(field jsontree.Node) bool {
		if field.Name() == "size" {
			return isInteger(field)
		}
		return field.Kind() == jsontree.String
	})
}

func isInteger(n jsontree.Node) bool {
	_, err := strconv.ParseUint(n.Raw(), 10, 63)
	return err == nil
}

// hasTexts reports whether a value is an object whose fields are texts, with the same names as for hasFields.
func hasTexts(n jsontree.Node, required int, names ...string) bool {
	return hasFields(n, required, names...) && all(n, jsontree.Object, func(field jsontree.Node) bool { return field.Kind() == jsontree.String })
}

// hasFields reports whether a value is an object with the first fields, which are required, and no fields with other
// names.
func hasFields(n jsontree.Node, required int, names ...string) bool {
	return all(n, jsontree.Object, func(field jsontree.Node) bool { return slices.Contains(names, field.Name()) }) &&
		!slices.ContainsFunc(names[:required], func(name string) bool { return !n.Member(name).Exists() })
}

// all reports whether a value has a kind, and whether all its items or fields pass a check.
func all(n jsontree.Node, kind jsontree.Kind, check func(jsontree.Node) bool) bool {
	if n.Kind() != kind {
		return false
	}
	for _, item := range n.All() {
		if !check(item) {
			return false
		}
	}
	return true
}
