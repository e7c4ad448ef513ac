package builder

import (
	"net/http"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/schema"
)

const previewChoices = 20

// listChoices returns the first choices of a list, as a respondent who is not signed in sees them.
func (h *Handler) listChoices(r *http.Request) (any, error) {
	form, err := requestClient(r).Form(r.Context(), pathID(r, "form"))
	if err != nil {
		return nil, err
	}
	items, err := h.service.Choices(r.Context(), r.URL.Query().Get("list"), formsvc.ChoiceQuery{Form: form.ID, Workspace: form.WorkspaceID, Limit: previewChoices})
	return struct {
		Items []schema.Choice `json:"items"`
	}{items}, err
}
