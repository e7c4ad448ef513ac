package warnings

import (
	"strconv"

	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/textclean"
	"github.com/formsvc/formsvc/schema"
)

func (w *warner) checkUnfinished(b *schema.Block, path string) {
	if w.form.Blocks[w.form.Index[b.ID]].Hide {
		return
	}
	lacks := func(member, reason, message string) {
		_, params := w.blockName(w.form.Index[b.ID])
		w.addWarning(path+member, schema.WarnUnfinished, answertype.Explanation{Reason: reason, Message: message, Params: params})
	}
	p, hasImage := b.Properties, len(b.Properties.Image) > 0
	textless := textclean.IsBlank(b.Label)
	k, known := schema.LookupBlockType(b.Type)
	switch {
	case k.TakesAnswer():
		if textless && textclean.IsBlank(p.LegalText) {
			lacks("/label", "question", "the question has no text")
		}
	case b.Type == schema.TypeGroup:
		if len(b.Children) == 0 {
			lacks("/children", "group", "the group is empty")
		}
	case b.Type == schema.TypeImage:
		if !hasImage {
			lacks("/properties/image", "image", "the image is missing")
		}
	case b.Type == schema.TypeVideo && p.VideoLink == "":
		lacks("/properties/videoLink", "link", "the video link is missing")
	case b.Type == schema.TypePDF && p.PDFLink == "":
		lacks("/properties/pdfLink", "link", "the link to the PDF file is missing")
	case b.Type == schema.TypeEmbed && p.EmbedLink == "":
		lacks("/properties/embedLink", "link", "the link to the page is missing")
	case known && showsText[b.Type] && textless && textclean.IsBlank(b.Description) && !hasImage:
		lacks("/label", "text", "the text is missing")
	}
	if answertype.ChoiceLabels(w.form.Blocks[w.form.Index[b.ID]].Rule) == nil {
		return // choices can be left over from a previous block type
	}
	texts := func(member string, list []schema.Choice) {
		for i, choice := range list {
			if textclean.IsBlank(choice.Label) && (b.Type != schema.TypePictureChoice || len(choice.Image) == 0) {
				lacks(member+strconv.Itoa(i)+"/label", "choice", "this has no text, so respondents see its ID")
			}
		}
	}
	if b.Type != schema.TypeMatrix {
		texts("/choices/", b.Choices)
		return
	}
	texts("/matrix_rows/", b.MatrixRows)
	texts("/matrix_columns/", b.MatrixColumns)
}

var showsText = map[string]bool{
	schema.TypeWelcome: true, schema.TypeStatement: true, schema.TypeEnding: true, schema.TypeHeading: true, schema.TypeText: true,
}
