package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/internal/cache"
	"github.com/formsvc/formsvc/internal/hostdata"
	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// PublishedForm returns a published form by its public ID.
func (i Intake) PublishedForm(ctx context.Context, publicID string) (storage.Form, *CompiledForm, error) {
	if !objectid.IsPublicID(publicID) {
		return storage.Form{}, nil, storage.ErrNotFound // some stores return other errors for arbitrary text
	}
	f, err := i.core.Storage.FormByPublicID(ctx, publicID)
	if err == nil && f.Status != storage.StatusPublished {
		err = ErrDraft
	}
	return i.withCompiled(f, err)
}

// Form returns a draft or published form by its ID.
func (i Intake) Form(ctx context.Context, id storage.ID) (storage.Form, *CompiledForm, error) {
	f, err := i.core.Storage.Form(ctx, storage.AsHost(), id)
	if errors.Is(err, storage.ErrNotFound) {
		err = fmt.Errorf("formsvc: no form has the ID %s: %w", id, err)
	}
	return i.withCompiled(f, err)
}

func (i Intake) withCompiled(f storage.Form, err error) (storage.Form, *CompiledForm, error) {
	if err != nil {
		return storage.Form{}, nil, err
	}
	known, err := i.compileCached(f)
	if err != nil {
		return storage.Form{}, nil, err
	}
	f.Definition = known.Definition
	if known.WorkspaceID != f.WorkspaceID { // the host decides by the workspace
		moved := *known
		moved.WorkspaceID, known = f.WorkspaceID, &moved
	}
	return f, known, nil
}

// CompiledForm is an immutable compiled form. Its name can be outdated, because the cache does not compare it.
type CompiledForm struct {
	storage.Form
	Blocks    []schema.Block
	Settings  schema.Settings
	Theme     schema.Theme
	answers   answers.Form
	questions []byte                       // the labels and types of the questions for events, as JSON
	details   *cache.Cache[string, []byte] // from eventDetails, by language
	clock     func() time.Time             // of the service
	host      *hostdata.Host
	before    *storedState // the submission that changes, or nil
	// committed says whether the form was read outside a host's transaction. After a rollback, another definition can get
	// the same revision.
	committed bool
}

// compiledFormBytes is added to a definition's size to get its size in the cache, although a compiled form uses about
// twelve times as much memory as its definition. A full cache uses 40 MB with 620 forms of 30 questions, and 94 MB with
// 91 forms of 3,000 choices.
const compiledFormBytes = 8 << 10

// maxDetailsBytes limits the details of events that a form caches. A form of 15 questions needs 1.5 KB for each language.
const maxDetailsBytes = 32 << 10

// compileCached compiles a stored form, or returns it from the cache. It compares the definition's bytes, because
// revisions can repeat after a rollback. If the definition is the same, the new entry shares its bytes.
func (i Intake) compileCached(f storage.Form) (*CompiledForm, error) {
	known, ok := i.forms.Get(f.ID)
	same := ok && known.Definition.Equal(&f.Definition)
	if same && known.isCurrentFor(&f) && (known.committed || i.inHostTransaction) {
		return known, nil
	}
	form := &CompiledForm{clock: i.core.Clock, host: &i.core.Host}
	if same {
		*form, f.Definition = *known, known.Definition
	} else if err := form.decodeAndCompile(i.core.AnswerSource(f.Definition)); err != nil {
		return nil, fmt.Errorf("formsvc: form %s: %w", f.ID, err)
	}
	form.Form, form.committed = f, !i.inHostTransaction
	form.details = &cache.Cache[string, []byte]{Max: maxDetailsBytes} // empty, because the name can be new
	if !ok || form.committed || !known.committed {
		i.forms.Put(f.ID, form, compiledFormBytes+f.Definition.Size())
	}
	return form, nil
}

// Path returns the path for answers that may be incomplete, at the current time.
func (k *CompiledForm) Path(answers map[string]json.RawMessage, hidden map[string]string) (schema.Path, error) {
	path, err := k.answers.Path(answers, hidden, k.clock())
	if err != nil {
		return schema.Path{}, fmt.Errorf("formsvc: form %s: %w", k.ID, err)
	}
	return path, nil
}

// ForChanges returns a copy that computes paths and checks answers as for a change of a stored submission.
func (k *CompiledForm) ForChanges(s *storage.Submission) (*CompiledForm, error) {
	list, err := schema.DecodeAnswers(s.Answers)
	if err != nil {
		return nil, err
	}
	copied := *k
	copied.clock = func() time.Time { return s.SubmittedAt }
	copied.before = &storedState{Input: k.StoredInput(slices.Clone(list), s.SubmittedAt), list: list, all: k.allInput(list, s.SubmittedAt)}
	if k.answers.AsksHost() {
		_, copied.before.asked, err = k.answers.PathAsking(copied.before.all)
	}
	return &copied, err
}

// allInput is like StoredInput, but Answers also has the host's answers.
func (k *CompiledForm) allInput(list []schema.Answer, at time.Time) Input {
	in := k.StoredInput(slices.Clone(list), at)
	maps.Copy(in.Answers, in.HostAnswers)
	in.HostAnswers = nil
	return in
}

// StoredInput returns stored answers as the input of a submission at a time. It omits answers to blocks that were
// deleted or have another type now.
func (k *CompiledForm) StoredInput(list []schema.Answer, at time.Time) Input {
	return k.answers.StoredInput(slices.DeleteFunc(list, func(a schema.Answer) bool { return !k.answers.Has(&a) }), at)
}

// isCurrentFor reports whether the forms k and f treat submissions the same, apart from the definition.
func (k *CompiledForm) isCurrentFor(f *storage.Form) bool {
	return k.Revision == f.Revision && k.Status == f.Status && k.Acceptance == f.Acceptance
}

func (k *CompiledForm) decodeAndCompile(from answers.Source) (err error) {
	if k.Blocks, err = schema.DecodeBlocks(from.Blocks); err != nil {
		return err
	}
	if k.Settings, err = schema.DecodeSettings(from.Settings); err != nil {
		return err
	}
	if k.Theme, err = schema.DecodeTheme(from.Theme); err != nil {
		return err
	}
	k.questions = encodeQuestions(k.Blocks)
	k.answers, err = answers.Compile(from)
	return err
}
