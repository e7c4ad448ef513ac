package descriptioncheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi/datamodel"
)

// document reads the description of the module that this one is nested in.
func document(t *testing.T) []byte {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "schema", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// validators are two programs of different authors. The first compares the
// document with the schema that the OpenAPI Initiative publishes for 3.1; the
// second has its own model of a document and follows the references in it.
var validators = map[string]func(context.Context, []byte) error{
	"libopenapi":  libopenapiValidate,
	"kin-openapi": kinValidate,
}

func libopenapiValidate(_ context.Context, doc []byte) error {
	config := datamodel.NewDocumentConfiguration()
	config.Logger = slog.New(slog.DiscardHandler) // it logs what it also returns
	d, err := libopenapi.NewDocumentWithConfiguration(doc, config)
	if err != nil {
		return err
	}
	if _, err := d.BuildV3Model(); err != nil {
		return err
	}
	v, errs := validator.NewValidator(d)
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	ok, faults := v.ValidateDocument()
	if ok {
		return nil
	}
	err = errors.New("not a valid OpenAPI document")
	for _, f := range faults {
		for _, s := range f.SchemaValidationErrors {
			err = fmt.Errorf("%w\n%s: %s", err, s.KeywordLocation, s.Reason)
		}
	}
	return err
}

func kinValidate(ctx context.Context, doc []byte) error {
	loader := openapi3.NewLoader()
	loader.Context = ctx
	d, err := loader.LoadFromData(doc)
	if err != nil {
		return err
	}
	return d.Validate(ctx, openapi3.IsOpenAPI31OrLater(), openapi3.EnableSchemaFormatValidation())
}

func TestDescriptionIsValid(t *testing.T) {
	t.Parallel()
	for name, validate := range validators {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := validate(t.Context(), document(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestValidatorsRefuseABrokenDescription shows that the validators look: each
// copy has one fault.
func TestValidatorsRefuseABrokenDescription(t *testing.T) {
	t.Parallel()
	for _, fault := range []struct{ name, old, new string }{
		{"no version", `"version": "2026-08-01"`, `"edition": "2026-08-01"`},
		{"a reference to nothing", `"#/components/schemas/Workspace"`, `"#/components/schemas/Workshop"`},
		{"a parameter in no known place", `"in": "query"`, `"in": "body"`},
		{"a response without description", `"description": "The user who owns the key.",`, ``},
		{"a path without a slash", `"/v1/me"`, `"v1/me"`},
		{"a security scheme of no known type", `"type": "apiKey"`, `"type": "key"`},
	} {
		for name, validate := range validators {
			t.Run(name+" refuses "+fault.name, func(t *testing.T) {
				t.Parallel()
				doc := document(t)
				broken := bytes.Replace(doc, []byte(fault.old), []byte(fault.new), 1)
				if bytes.Equal(broken, doc) {
					t.Fatalf("the description has no %s", fault.old)
				}
				if err := validate(t.Context(), broken); err == nil {
					t.Error("it is taken")
				}
			})
		}
	}
}
