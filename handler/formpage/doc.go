// Package formpage serves form pages: published forms as HTML. The pages work without JavaScript; a script makes them
// more convenient. They support every block type, logic, themes, files and CAPTCHAs in ten languages.
//
//	pages, err := formpage.New(svc, formpage.Config{Secret: secret})
//	mux.Handle("/f/", pages) // /f/{public_id}
//
// The handler stores no state of a respondent between requests. A page contains its state, signed with [Config.Secret],
// which must be the same in all processes of a host. The handler sets no cookie. It still rejects posts from other
// origins (see [Config.AllowedOrigins]), because they could contain the host's cookies, which [Config.HostAnswers] may
// use. It caches forms in at most 8 MiB.
//
// # Layout and logic
//
// A form of the type SINGLE shows each question on its own page. A MULTI form is divided at its page breaks. The
// service evaluates the rules whenever a page is submitted, and the script requests the blocks that depend on an
// answer. After a violation, the respondent sees the page with the question again, with all input.
//
// The URL of a form can contain answers by block ID, hidden fields and campaign parameters by name, and lang:
// /f/{public_id}?color=red&ref=mail&utm_source=news&lang=de. Use these formats:
//
//   - A choice is its ID or label. Repeat several choices (color=red&color=blue) or use commas.
//   - A yes_no is true, yes, 1, false, no, 0, or the page's own word.
//   - A country is its code, or its name in English or the page's language.
//   - A number has a decimal point in every language, and a date has no UTC offset.
//   - An unencoded plus at the start of a phone number or before the @ of an email address is accepted.
//
// The URL cannot fill in legal, matrix, address, contact_info, payment, files, or hidden fields of over 10,000
// characters.
//
// Only respondents who submitted the form see its ending and the redirectUrl. The URL of an ending contains a signed
// token, which is valid for a week for everyone who has it. Without the token, …/done shows a standard thank-you page.
//
// A view is counted when the script runs in a visible tab, and a start at the first input, once per visit. Without
// JavaScript, both are counted when the first page is submitted. Preloaded pages and bots that identify themselves are
// not counted.
//
// The script retains the input for a reload until the form is submitted, in this tab and for this URL with its query.
// If a visit submits the same answers again, by a double click or in a second tab, the service finds the stored
// submission. Changed answers become another submission, even after going back with the browser's button. A CAPTCHA is
// valid for one submission, so the page then requires a new solution. Browsers can store the page that opens a form
// (private, max-age=0), but no page with answers.
//
// The text of an "Other" option counts only if the option is selected. Without a script, the page asks once about a
// text whose option is not selected. If a proxy, a filter or a sign-in page responds instead of the form page, the
// script leaves the form unchanged and shows an error.
//
// # Partial submissions
//
// With [Config.Partials], a page saves its input when the respondent goes forward or back. Its script also saves ten
// seconds after a change, and after the first save when the tab is closed. Nothing is saved before there is an answer.
// The page shows that it saves, who can see the data, and how long it is stored (at most 30 days after the last save).
// A button deletes the data and stops automatic saving.
//
// The same tab continues automatically. To continue elsewhere, the respondent uses a link, which a button shows. The
// link leads to /f/{public_id}/later and has its token after a #, so that no server and no log receives it. Its page
// shows a button but no answers, because messengers and mail filters open links too. Without a script, it has an input
// for the link. Everyone who has the link can read and change the answers.
//
// Files and solved CAPTCHAs are not saved. Answers to removed questions are shown for copying, and so are all answers
// if the form is closed. Several tabs or devices can continue the same partial submission. A page takes over answers
// that another page saved, except answers that it changed itself, and says so before it continues. An answer that
// another page removed stays. After a page has submitted the form, the next save of another page shows the ending, or
// the changes since then for copying. If the other page is on its last step, submitting it stores a separate
// submission. The host's own front ends cannot save partial submissions.
//
// # Input formats
//
// Numbers are parsed in the format of the respondent's language and region, with the digits of any script. Next to a
// phone number, a select contains its country. It defaults to the block's defaultCountry, then to the respondent's
// region. A number with a + contains its own country.
//
// When the respondent leaves a field, the script shows the phone number that will be stored, and how ambiguous values
// are interpreted: one separator before three digits (1,500), a phone number that is another number with a +, a
// national number if the respondent has another country, and an email domain similar to a large provider's. Without a
// script, the page is shown again with this text. This never changes or rejects a value. The JSON routes interpret
// values as Submit does.
//
// If a form is closed, unpublished or moved to the trash while a respondent fills it in, the response is a 410 with the
// entered text for copying. In JSON and for pages without a valid signature, a draft is a 404.
//
// # Limits
//
// A page renders at most 4 MiB of its form and lists the missing parts. Only forms with more text, or forms stored
// before the limit on cells ([schema.Limits]), exceed this. A ranking of more than 40 choices asks for a number per
// choice. An opinion scale of more than 21 steps is a number input. A submitted page can have [Config.MaxBody] of text,
// and 1,000 values more than the form has inputs. If it is larger, it is shown again with the input that was read. JSON
// is parsed as in the API.
//
// # Settings
//
//   - branding shows [Config.Brand].
//   - navigation adds the page number and two arrows, and progressBar adds a progress bar.
//   - singlePage shows everything on one page, whatever the type.
//   - inlineFields puts labels next to fields on wide screens, and borderRadius rounds corners.
//   - numberedQuestions numbers the questions on the path, and showTitle shows the form's name.
//   - darkMode lets the form follow the respondent's dark mode. Without it, the form is light.
//   - utm lists the campaign parameters that are stored.
//   - closedMessage, redirectUrl and submitLabel are used as written. If a redirectUrl is not http or https, only the
//     ending's button uses it. A redirectUrl with a user name is never used. Without the script, in a frame, and for
//     forms with a CAPTCHA, the page first shows the ending briefly.
//   - cover is an image or a color at the top.
//
// # Theme
//
// colors sets the named colors. If text is not readable on its background, both are corrected to the contrast of WCAG
// 2.2 AA. theme is a class "theme-{name}" for customCss. font is a font family of the respondent's system, or "serif",
// "mono" or "rounded"; no fonts are loaded. corners, inputs and buttons are lengths and colors. alignment is 0 (start),
// 1 (center) or 2 (end). size is 0 (small), 1 (normal), 2 (large) and so on. layout.pageWidth is a length, or "narrow",
// "medium", "wide" or "full". background.layout is "cover" (the default), "contain" or "repeat", and brightness is a
// factor or a percentage. logoPlacement.align is "left", "center" or "right", and vertical is "top" or "bottom".
//
// customCss is parsed and written again with a list of allowed properties and functions. It can contain no URLs, and no
// at-rules except @media. Every selector is .fs (the form) or below it. A container element clips the form, and no
// selector can match it. A style sheet therefore cannot cover the [Config.Layout] around the form, or the bar of a
// preview. A part of the layout that stays visible while the form scrolls needs a z-index above 0.
//
// # Block properties
//
// Labels and descriptions are text, never HTML, with the line breaks of a description. A pdf block is a link that opens
// the document in a new tab, because many hosts forbid frames and phones cannot show PDF files in them. Videos of
// YouTube and Vimeo and embeds load after a click. The browser's player shows video files.
//
// dateFormat asks for a date in three fields in that order, unless showDatePicker uses the browser's date picker. Up to
// ten specificDates are buttons, and up to fifty are a select. A text below the question lists further dates and
// disabledDays. randomize uses one random order per visit. A payment is shown but not processed, see
// [Config.HostAnswers]. If a required payment or file is not possible, the first page says that the form cannot be
// submitted, and so does [Handler.MissingFeatures]. Form pages ignore numberFormat, showActions, showFields, part_of
// and row_id, which are for other renderers.
//
// # Fields without an effect here
//
//	Settings       responseLimit, closed, closeAt, duplicateField: the service uses them
//	Settings       cover.image.id, cover.image.width, cover.image.height
//	Theme          logo.id, background.image.id, background.image.width, background.image.height
//	Theme.Colors   popover, popoverForeground, chart1 to chart5, sidebar and what begins with it
//
// # Abuse
//
// A hidden field and a minimum time for filling in a form detect simple bots. [Config.Limiter] limits how often an IP
// address can submit, and [Config.Verifiers] check CAPTCHAs. If a check fails, the page is shown again with the input.
//
// # Preview
//
// [Handler.PreviewPath] creates a signed link to a preview of a stored form, which can be a draft. A bar above the form
// lists the form's warnings, captcha blocks without a verifier and the redirect URL, and says whether the form is
// closed. Submitting a preview checks the answers and stores and counts nothing. Editors render a form with
// [Handler.Canvas], even if its content is not valid yet.
//
// # Files
//
// Blocks of the types file_upload and signature need [Config.Files]. A file has the type of its extension if its first
// bytes can have this type, and otherwise the type of its bytes. If its bytes contradict its name, files of common
// types are rejected. The service does not inspect the rest of a file. For a virus scan, use [FileStore].Save.
//
// A file is stored while it is uploaded, before the form is submitted. The server's ReadTimeout must therefore be long
// enough for the largest file: 10 MiB take 90 s at 1 Mbit/s. [Config.MaxVisitFiles] limits the files that a visit can
// store before its submission, and [Dir.MaxUnsubmitted] limits the files of all visits. If a file is not part of a
// submission after a week, you can remove it, see [FileRetainer] and [Dir.Sweep]. To serve files, see [FileHandler]. To
// remove them with their submissions, see [formsvc.WithFiles].
//
// # Embedding
//
// A form can show pages of other hosts in frames, with blocks of the type embed, but no page of its own host. Serve
// forms from untrusted authors on a separate origin, because a form can look like any page of its origin.
//
// Any page can show a form in a frame with one line:
//
//	<script src="https://forms.example/f/-/embed.js" data-form="{public_id}" async></script>
//
// To show it in a dialog, add a button with data-formsvc-open="{public_id}". List the embedding pages in
// [Config.FrameAncestors]. After a submission, the frame fires the event "formsvc:done" once. If the form has a
// redirectUrl, the script then redirects the outer page, unless a listener calls preventDefault. If a page creates the
// frame itself, the ending has a link to the redirectUrl.
//
// A host's own front end can use these routes with JSON:
//
//   - GET {public_id}/form.json returns the blocks without hidden blocks, rules and the texts of endings, and a state
//     that the front end sends back.
//   - POST {public_id}/path with {"state","answers","hidden"} returns the blocks to show and the ending.
//   - POST {public_id}/submit with also "utm", "captcha" and "took" stores the submission. It returns 201 with
//     {"ending","block","redirect_url"}, where block is the ending, or 422 with {"code","message","faults"}. If an
//     error contains a "captcha", send this value the next time instead of the token, which is valid once. If there is
//     a second CAPTCHA, its token follows after a space. 409 says that the CAPTCHA was used for another submission. If
//     an error contains a "state", send this state from then on.
//   - POST {public_id}/view and /start with the state as a form value count a view and a start.
//
// Front ends cannot submit files. List other origins in [Config.AllowedOrigins].
//
// # Tests of a host
//
// A test can fill in a page like a browser without JavaScript, see the [example TestsOfAHost]. It loads the page and
// posts all of its inputs, including state, with the answers filled in. [ParseAnswers] lists the names of the inputs.
// Leave the input more_info empty, because only bots fill it in. Set [Config.MinFillTime] to -1, or wait for two
// seconds. The response to a post is one of:
//
//	303  to …/done: the submission is stored
//	200  the next page of the form, or this page with questions that depend on the answers
//	422  this page again: violations, a rejection by [Config.Submit], a post within MinFillTime, another
//	     Secret or no state, an ambiguous value to confirm, a CAPTCHA
//	409  this page again: the answer to settings.duplicateField exists already, a CAPTCHA
//	     was used before, or the form has changed and a text no longer has a question
//	410  the form was closed, unpublished or moved to the trash after the page was opened
//	413  this page again: it is larger than MaxBody, or than the limit of an http.MaxBytesHandler
//	429  this page again: [Config.Limiter]
//	403  the post is from another origin
//	404  the form does not exist, or was always a draft
//	503  this page again: the storage is not available, or [Config.Submit] returned another error
//
// [example TestsOfAHost]: https://pkg.go.dev/github.com/formsvc/formsvc/handler/formpage#example-package-TestsOfAHost
package formpage
