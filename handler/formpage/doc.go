// Package formpage serves the pages that respondents see: a published form as HTML that works
// without JavaScript, and is pleasanter with a little of it. It shows every block type, one
// question at a time or by pages, with branches, themes, files and captchas, in ten languages.
//
//	pages, err := formpage.New(svc, formpage.Config{Secret: secret})
//	mux.Handle("/f/", pages) // /f/{public_id}
//
// The handler keeps nothing of a visitor between two requests. What a page must know of the
// page before travels in the page, signed: see [Config.Secret]. All processes of a host have
// the same secret. The handler sets no cookie. A post from a page of another origin is refused
// all the same, see [Config.AllowedOrigins]. Such a post would come with the host's cookies,
// by which [Config.HostAnswers] may know its visitor. Of a form the handler remembers the
// definition that respondents saw last and the style made of its theme, within 8 MiB for all
// forms.
//
// # How a form is shown
//
// A form of the type SINGLE is shown one question at a time, a MULTI form divided at its page
// breaks. Rules stay with the service: the service walks through the form whenever a page is
// sent, and the script asks it for the blocks that an answer calls for. A fault leads back to
// the page with the question, with everything filled in. A page goes on by its buttons alone:
// a choice does not send the page.
//
// The address of a form takes answers by block id, hidden fields and campaign parameters by
// name, and lang: /f/{public_id}?color=red&ref=mail&utm_source=news&lang=de. A choice is its
// id or label, several choices and a ranking are repeated (color=red&color=blue) or have commas
// between them. A yes_no is true, yes, 1, false, no, 0, or the page's own word. A country is its
// code, or its name in English or the page's language. A number has a decimal point in every
// language, and a date has no offset from UTC. A plus that the link did not encode is read as one
// at the beginning of a phone and before the @ of an email. Not filled in are legal, matrix,
// address, contact_info, payment and files, and a hidden field of more than 10,000 characters.
//
// An ending, and the redirectUrl, are for respondents who sent a response. The address of an
// ending has a signed token, which is good for a week, for anybody who has the token. Without
// the token …/done says thanks in the page's own words and leads nowhere.
//
// A view is counted when the page's script runs in a tab that can be seen, a start at the
// first input, each once a visit. Without JavaScript both are counted with the first page that
// is sent. Browsers that load a page ahead, and programs that say what they are, count for
// nothing.
//
// The script keeps what was typed until the form is sent, for a reload: in this tab, and for
// this link with this query. Another link begins with its own values.
//
// Sending the same answers of one visit again, by a double click or in a second tab, finds the
// response that is stored. Going back with the browser's button is no new visit: browsers may keep
// the page that opens a form for that (private, max-age=0), but none that shows answers. Other
// answers, sent after going back, are another response; with a captcha, which is good for one
// response, they come back and the captcha is solved again.
//
// Of a choice with an answer of one's own, only ticked options count. Without a script, a text
// next to "other" that is not ticked is asked about once. A single choice that need not be made
// has a button that clears it. An opinion scale of more than 21 steps is a number to type.
//
// When something in front of the pages answers instead of them, such as a proxy, a filter or a
// page to sign in, the script leaves the form as it is and says what happened.
//
// # Going on later
//
// With [Config.Partials] a page saves what is filled in: whenever it goes forward or back, and with
// its script ten seconds after a change and, once it was saved, when the tab is left. Nothing is
// saved before there is an answer. Below its buttons the page says that it saves, for how long what
// is saved is kept (at most 30 days after the last save, see [Config.Partials]), and who sees it,
// and it has a button that deletes it: nothing more is saved by itself then.
//
// The tab goes on by itself. Elsewhere a link does, which a button of the page shows. The link leads
// to /f/{public_id}/later and has its token behind a #, where no server and no log sees it. Its page
// shows a button, and nothing of the answers, to whatever looks at links that somebody sends.
// Without a script it has an input for the link. Whoever has the link reads and changes the answers.
//
// Files are not saved and are asked for again, captchas are solved again, and no second view or start
// is counted. What the form does not ask for any more is shown, to be copied. Of a closed form the
// link shows what was typed. When several tabs or devices go on with one response, a page takes over
// the answers that another one saved, but for those that it changed itself. It says so and stays,
// also instead of sending. An answer that another one removed stays. When one of them has sent the
// response, the next save leads the others to the ending, or shows what was changed since, to be
// copied. What is sent from their last page is stored as a response of its own.
//
// A half response is begun and saved within budgets of the visitor's address, see [Config.Limiter].
// Front ends of the host's own have no route for it.
//
// # What people type
//
// Numbers are read as they are written in the visitor's language and region, in the digits of
// any script. A select beside a phone number, also in an address or contact, has the country
// of the number: the block's defaultCountry, else the visitor's region. A number with a +
// names its country itself.
//
// As soon as a field is left, the script shows below the field the phone number that will be
// stored. It also shows the reading of a value that can be read in two ways: one sign before
// three digits (1,500), a phone number that is another number with a +, a national number of
// the form's country when the visitor's is another, an address at a domain that is one slip
// from a large provider's. Without a script the page comes back once with that text. Nothing
// is changed or refused by it, and the JSON routes take values as Submit does.
//
// A form may be closed, made a draft or put into the trash while a respondent fills it in. The
// page is then answered with 410 and the typed text, to be copied. Its token has to be signed
// here: to everybody else, and in JSON, a draft is 404, as is an address without a form.
//
// # Bounds
//
// A page draws at most 4 MiB of its form, beside the typed text, and names the missing parts.
// Only a form with more text, or a form stored before there was a limit of cells
// ([schema.Limits]), has no room. A ranking of more than 40 choices asks for a number a choice.
// A page that is sent may have [Config.MaxBody] of text, and 1,000 values more than the form
// has inputs. A larger page comes back, filled in as far as it was read. JSON is read as the
// API reads it: within its bounds, without duplicate or unknown members.
//
// # Settings
//
//   - branding shows [Config.Brand].
//   - navigation adds the page's number and two arrows, progressBar a bar.
//   - singlePage shows everything on one page, whatever the type.
//   - inlineFields puts labels beside fields on wide screens, borderRadius rounds corners.
//   - numberedQuestions numbers the questions on the path, showTitle shows the form's name.
//   - darkMode lets the form follow the visitor's dark mode; without it the form is light.
//   - utm says which campaign parameters are kept.
//   - closedMessage, redirectUrl and submitLabel are used as written. A redirectUrl that is not
//     http or https is left to the ending's button, and a redirectUrl with a user name is not
//     followed. Without the script, in a frame, and where there is a captcha, the ending is shown
//     for a moment and leads to the redirectUrl, which may redirect to any place.
//   - cover is an image or a colour at the top.
//
// # Theme
//
// colors are used for what they name; text and what it stands on are corrected to the contrast
// of WCAG 2.2 AA where the theme's are not readable. theme is a class "theme-{name}" for
// customCss. font is a family of the visitor's system, or "serif", "mono" or "rounded"; none is
// loaded. corners, inputs and buttons are lengths and colours. alignment is 0 (start), 1
// (centre) or 2 (end); size is 0 (small), 1 (as usual), 2 (large) and so on. layout.pageWidth is
// a length, or "narrow", "medium", "wide" or "full". background.layout is "cover" (the default),
// "contain" or "repeat", brightness a factor or per cent. logoPlacement.align is "left",
// "center" or "right", vertical "top" or "bottom".
//
// customCss is parsed and written anew from a list of properties and functions: no address of
// any kind, no at-rule but @media, every selector is .fs, the form, or below it. The form stands
// in an element of the page's own, which no selector can name and which clips the form: nothing
// in a sheet covers what a [Config.Layout] has around the form, or the bar of a preview. A part
// of a layout that stays in sight while the form scrolls needs a z-index above 0.
//
// # Block properties
//
// Labels and descriptions are text, never HTML; line breaks of a description are kept. A pdf
// block is a link that opens the paper in a tab of its own: many hosts forbid frames, and phones
// show no papers in them. Videos of YouTube and Vimeo and embeds are loaded by a click, video
// files by the browser's player.
//
// dateFormat asks for a date in three fields in that order, unless showDatePicker asks for the
// browser's own. Of specificDates up to ten are buttons, up to fifty a list to choose from; more,
// and disabledDays, are explained below the question. randomize mixes choices in one way for one
// visit. A payment is shown and not taken, see [Config.HostAnswers]. Where a required payment, or
// a required file, can be given by nobody, the first page says that the form cannot be sent, and
// so does [Handler.Lacks]. numberFormat, showActions, showFields, part_of and row_id are left to
// other renderers.
//
// # Members that do nothing here
//
//	Settings       responseLimit, closed, closeAt, duplicateField: the service goes by them
//	Settings       cover.image.id, cover.image.width, cover.image.height
//	Theme          logo.id, background.image.id, background.image.width, background.image.height
//	Theme.Colors   popover, popoverForeground, chart1 to chart5, sidebar and what begins with it
//
// # Abuse
//
// A field that nobody sees, and the time that a person takes at least, catch simple programs;
// [Config.Limiter] bounds how often an address sends, and [Config.Verifiers] check captchas.
// Whoever trips one of these sees the form again, filled in: nothing is dropped in silence. A
// captcha without its verifier checks nothing and is not shown; [Handler.Lacks] says so to the
// host, as do the log and the preview.
//
// # Preview
//
// [Handler.PreviewPath] makes a signed link that shows a form as it is stored, also a draft, for
// as long as the host says. A bar above the form says that this is a preview. It lists the
// warnings of the form, captchas that nothing checks, where the form redirects to, and that the
// form is closed. Sending checks the answers and stores nothing: no response, no file, no view
// and no start. Previews need [Config.Secret].
//
// Editors draw a form with [Handler.Canvas]: all blocks of what may not even be saved, below each other.
//
// # Files
//
// Blocks of the types file_upload and signature need [Config.Files]; without it they say that
// the page takes none. A file has the type that the end of its name claims, if its first bytes
// can be of that type, else the type of its bytes. A file whose bytes contradict its name is
// refused where the type is common. Nothing looks further into a file: a host that needs that,
// such as a scan for viruses, does it in [FileStore].Save.
//
// A file is stored while it arrives, before the form is sent, so the server's ReadTimeout has to
// be long enough for the largest file: 10 MiB take 90 s at 1 Mbit/s. [Config.MaxVisitFiles]
// bounds the files that a visit stores before its response. [Dir.MaxUnsent] bounds the files of
// all visits; a FileStore of the host returns [ErrNoSpace]. A file that is never sent with a
// response may be removed after a week: [Keeper] says how a host knows, and [Dir.Sweep] does it.
// See [FileHandler] for handing files out, and [formsvc.WithFiles] for removing them with
// their responses.
//
// # Other pages
//
// A form in turn shows pages of other hosts in frames, in blocks of the type embed, and never a page of its own
// host. Forms that strangers write belong on an origin of their own all the same: a form can look like any
// page of its origin.
//
// Any page shows a form in a frame with one line:
//
//	<script src="https://forms.example/f/-/embed.js" data-form="{public_id}" async></script>
//
// or in a dialog, with a button that has data-formsvc-open="{public_id}". The host lists such
// pages in [Config.FrameAncestors]. When a response is sent, the frame fires the event
// "formsvc:done" once. If the form has a redirectUrl, the script then leads the page itself there,
// not the frame, unless a listener calls preventDefault. In a frame that a page makes by itself, the
// ending has a link to the redirectUrl, and every link of an ending opens in the whole window.
//
// A front end of the host's own uses these routes, with JSON:
//
//   - GET {public_id}/form.json: the blocks without hidden blocks, without rules and without what
//     endings say, and a state that the front end sends back.
//   - POST {public_id}/path with {"state","answers","hidden"} returns the blocks to show and the
//     ending.
//   - POST {public_id}/submit with also "utm", "captcha" and "took" stores the response: 201 with
//     {"ending","block","redirect_url"}, where block is the ending, or 422 with
//     {"code","message","faults"}. Where a refusal has a "captcha", that value is sent the next
//     time instead of the token, which is good once; the token of a second captcha follows it
//     after a space. 409 says that the captcha was used for another response. Where a refusal has
//     a "state", that state is sent from then on.
//   - POST {public_id}/view and /start with the state as a form's value count a view and a start.
//
// There is no route for files: forms that ask for files need the page. Origins other than the
// handler's own are listed in [Config.AllowedOrigins].
//
// # Tests of a host
//
// A test fills in a page as a browser without JavaScript does, see the [example TestsOfAHost]. It
// gets the page and posts all of its inputs, state among them, with the answers filled in;
// [Answers] lists the names. The input more_info stays empty, as only programs fill it in.
// [Config.MinFillTime] is -1, or the test has to wait for two seconds. A post is answered with
//
//	303  to …/done: the response is stored
//	200  the next page of the form, or this one with questions that the answers call for
//	422  this page again: faults, a refusal by [Config.Submit], sent within MinFillTime, made by
//	     another Secret or without state, a reading to confirm, a captcha
//	409  this page again: the answer to settings.duplicateField is there already, a captcha
//	     was used before, or the form has changed and a text has no place any more
//	410  the form was closed, made a draft or put into the trash after the page was opened
//	413  this page again: it is larger than MaxBody, or than an http.MaxBytesHandler in front takes
//	429  this page again: [Config.Limiter]
//	403  it was sent from another origin
//	404  there is no such form, or it was a draft all the time
//	503  this page again: the storage is not available, or [Config.Submit] returned another error
//
// [example TestsOfAHost]: https://pkg.go.dev/github.com/formsvc/formsvc/handler/formpage#example-package-TestsOfAHost
package formpage
