package field

import (
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/filetype"
	"github.com/formsvc/formsvc/handler/formpage/internal/htmlwriter"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/upload"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/schema"
)

func (b *builder) addFiles(f *Field, block *schema.Block, p *schema.Properties) {
	b.Multipart = true
	f.control, f.Name = (*writer).writeFiles, input.Upload+block.ID
	f.Remove = input.Remove + block.ID
	f.Multiple = p.MultipleFiles && block.Type == schema.TypeFileUpload
	f.MaxBytes = b.Host.MaxFileBytes(p)
	size, types := words.ToMegabytes(f.MaxBytes), answertype.AllowedFileTypes(p)
	switch {
	case block.Type == schema.TypeSignature:
		f.Accept = strings.Join(filetype.SignatureTypes, ",")
		f.Help = b.Words.Get("help.signature")
	case len(types) > 0:
		f.Accept = types.AcceptAttribute()
		f.Help = b.Words.Get("help.files_of", "size", size, "types", strings.Join(types, ", "))
	default:
		f.Help = b.Words.Get("help.files", "size", size)
	}
	b.Used[input.File+block.ID] = true
	f.Stored = b.Files[block.ID]
}

func (p *writer) writeFiles(f *Field) {
	if len(f.Stored) > 0 {
		p.Put(`<ul class="fs-files">`)
		for _, s := range htmlwriter.EachFitting(p.Writer, f.Stored) {
			p.Put(`<li><input type="hidden" name="%i" value="%v"><span>%i</span><button class="fs-button quiet" name="%i" value="%i">`, s.Input, s.Token, s.Name, f.Remove, s.ID)
			p.PutSentence(p.words.Get("remove"), "label", s.Name)
			p.Put("</button></li>")
		}
		p.Put("</ul>")
	}
	if len(f.Stored) > 0 && !f.Multiple {
		p.Put(`<span id="%i"></span>`, f.ID)
		return
	}
	p.PutIf(f.Type == schema.TypeSignature, `<div class="fs-sign" hidden><canvas width="1024" height="512" aria-hidden="true"></canvas><button type="button" class="fs-button quiet" data-clear>%s</button></div>`, p.words.Get("clear"))
	p.Put(`<div class="fs-drop"><input type="file" id="%i" name="%i"`, f.ID, f.Name)
	p.PutIf(f.Accept != "", ` accept="%s"`, f.Accept)
	p.Put(` data-bytes="%i" data-size="%s" data-type="%s" data-empty="%s"`, strconv.FormatInt(f.MaxBytes, 10),
		p.words.Get("error."+upload.CodeSize, "size", words.ToMegabytes(f.MaxBytes)), p.words.Get("error."+upload.CodeType), p.words.Get("error.FILE_EMPTY"))
	p.PutIf(f.Multiple, " multiple")
	p.PutIf(f.Required && len(f.Stored) == 0, " required")
	p.writeARIA(f)
	text := "file.drop"
	if f.Multiple {
		text = "files.drop"
	}
	p.Put(`><span aria-hidden="true" hidden><svg viewBox="0 0 24 24"><path d="M12 16V4M7 9l5-5 5 5M4 16v4h16v-4"/></svg><b>%s</b></span></div>`, p.words.Get(text))
}
