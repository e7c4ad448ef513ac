// Package formpage serves published forms as HTML form pages. The pages work without JavaScript, and a script makes
// them more convenient. They support every block type, logic, themes, files and CAPTCHAs, in ten languages.
//
//	pages, err := formpage.New(svc, formpage.Config{Secret: secret})
//	mux.Handle("/f/", pages) // /f/{public_id}
//
// The handler keeps no per-respondent state between requests. Each page carries its state, signed with [Config.Secret],
// which must be the same in all of a host's processes. The handler sets no cookies. It still rejects posts from other
// origins (see [Config.AllowedOrigins]), because they could carry the host's cookies, which [Config.HostAnswers] may
// use. It caches up to 8 MiB of forms.
//
// # Layout and logic
//
// A form of type SINGLE shows each question on its own page. A MULTI form is split at its page breaks. The service
// evaluates the rules whenever a page is submitted, and the script fetches the blocks that depend on an answer. If an
// answer violates a rule, the respondent sees the question's page again, with everything that was entered.
//
// A form's URL can contain answers by block ID, hidden fields and campaign parameters by name, and lang:
// /f/{public_id}?color=red&ref=mail&utm_source=news&lang=de. Use these formats:
//
//   - A choice is its ID or label. For several choices, repeat the parameter (color=red&color=blue) or use commas.
//   - A yes_no is true, yes, 1, false, no, 0, or the page's own word for yes or no.
//   - A country is its code, or its name in English or in the page's language.
//   - A number has a decimal point in every language, and a date has no UTC offset.
//   - A plus at the start of a phone number, or before the @ in an email address, need not be encoded.
//
// The URL cannot fill in legal, matrix, address, contact_info, payment, files, or hidden fields of over 10,000
// characters.
//
// Only respondents who have submitted the form see its ending and the redirectUrl. The ending's URL contains a signed
// token. For a week, anyone who has the token can open the ending. Without it, …/done shows a standard thank-you page.
//
// Each visit counts as one view when the script runs in a visible tab, and as one start at the first input. Without
// JavaScript, both are counted when the first page is submitted. Prerendered pages and bots that identify themselves
// are not counted.
//
// Until the form is submitted, the script keeps the input across reloads, for this tab and this URL with its query. If
// a visit submits the same answers again, by a double click or in a second tab, the service finds the stored
// submission. Changed answers are stored as another submission, even if the respondent used the browser's back button.
// A CAPTCHA is valid for one submission, so the page then requires a new solution. Browsers can cache the page that
// opens a form (private, max-age=0), but no page that contains answers.
//
// The text of an "Other" option counts only if the option is selected. Without a script, the page asks once what to do
// with text whose option is not selected. If a proxy, a filter or a sign-in page responds in place of the form page,
// the script leaves the form unchanged and shows an error.
//
// # Partial submissions
//
// With [Config.Partials], a page saves its input when the respondent goes forward or back. Its script also saves ten
// seconds after a change and, once something has been saved, when the tab is closed. Nothing is saved before there is
// an answer. The page says that it saves, who can see the data, and how long the data is stored (at most 30 days after
// the last save). A button deletes the data and stops automatic saving.
//
// In the same tab, the form continues automatically. To continue elsewhere, the respondent clicks a button to get a
// link. The link leads to /f/{public_id}/later and has its token after a #, so that no server and no log receives the
// token. The linked page shows a button but no answers, because messengers and mail filters open links too. Without a
// script, the page asks for the link in a text field. Anyone who has the link can read and change the answers.
//
// Files and solved CAPTCHAs are not saved. Answers to removed questions are shown so that the respondent can copy them.
// If the form is closed, all answers are shown this way. Several tabs or devices can continue the same partial
// submission. A page takes over answers that another page saved, except for answers that it changed itself, and says so
// before it continues. If another page removed an answer, this page keeps it. After one page has submitted the form,
// the next save from another page shows the ending, or the changes since then for copying. If the other page is on its
// last step, submitting it stores a separate submission. A host's own front ends cannot save partial submissions.
//
// # Input formats
//
// Numbers are parsed in the format of the respondent's language and region, with digits from any script. Next to each
// phone number is a country menu. It defaults to the block's defaultCountry, then to the respondent's region. A number
// that starts with a + already contains its country.
//
// When the respondent leaves a field, the script shows the phone number that will be stored. It also shows how it
// interprets ambiguous values: a single separator before three digits (1,500), a phone number that would be a different
// number with a +, a national number if the respondent's region differs from the selected country, and an email domain
// similar to a large provider's. Without a script, the page is shown again with this text. This never changes or
// rejects a value. The JSON routes interpret values as Submit does.
//
// If a form is closed, unpublished or moved to the trash while a respondent fills it in, the response is a 410 with the
// entered text for copying. In JSON and for pages without a valid signature, a draft is a 404. Before settings.openAt,
// the response is a 403 that says when the form opens, in the time zone [Config.Location]; the code in JSON is NOT_OPEN.
//
// # Insertions
//
// Texts insert the valid answers to blocks on the path, variables, hidden fields and the date, in the format of the
// respondent's language. Choices insert their labels. Hidden blocks and answers to matrix, file_upload, signature and
// payment insert nothing. The script updates the texts of a page while the respondent types. Without it, the next page
// shows the answers. An ending inserts the stored submission while the token in its URL is valid, and nothing after the
// submission was deleted. The ending of a preview inserts the answers of the preview.
//
// # Legal texts
//
// The answer to a legal block stores the text that its page showed. If the text has changed since then, the page is
// shown again without this answer, and nothing is stored. A saved answer counts only if the form has not changed since
// it was saved.
//
// # Limits
//
// A page renders at most 4 MiB of its form and lists the missing parts. Only forms with more text than that, or forms
// stored before the limit on cells ([schema.Limits]), exceed this limit. A ranking of more than 40 choices asks for a
// number per choice. An opinion scale of more than 21 steps is a number input. A submitted page can contain
// [Config.MaxBody] of text, and 1,000 values more than the form has inputs. A larger page is shown again with the input
// that was read. JSON is parsed as in the API.
//
// # Settings
//
//   - branding shows [Config.Brand].
//   - navigation adds the page number and two arrows, and progressBar adds a progress bar.
//   - singlePage shows everything on one page, whatever the form's type.
//   - inlineFields puts labels next to fields on wide screens, and borderRadius rounds corners.
//   - numberedQuestions numbers the questions on the path, and showTitle shows the form's name.
//   - darkMode lets the form follow the respondent's dark mode. Without it, the form is light.
//   - utm lists the campaign parameters to store.
//   - closedMessage can have formats and insertions, and submitLabel insertions. If a redirectUrl is not http or https,
//     only the ending's button uses it. A redirectUrl that contains a username is never used. Without the script, in a
//     frame, and for forms with a CAPTCHA, the page shows the ending briefly before it redirects.
//   - cover is an image or a color at the top.
//   - editable lets signed-in respondents edit their submissions, see below.
//
// # Theme
//
// colors sets the named colors. If text is not readable on its background, both are adjusted to the contrast of WCAG
// 2.2 AA. theme adds the class "theme-{name}" for customCss. font is a font family on the respondent's system, or
// "serif", "mono" or "rounded"; no fonts are loaded. corners, inputs and buttons are lengths and colors. alignment is 0
// (start), 1 (center) or 2 (end). size is 0 (small), 1 (normal), 2 (large) and so on. layout.pageWidth is a length, or
// "narrow", "medium", "wide" or "full". background.layout is "cover" (the default), "contain" or "repeat", and
// brightness is a factor or a percentage. logoPlacement.align is "left", "center" or "right", and vertical is "top" or
// "bottom".
//
// customCss is parsed and rewritten using a list of allowed properties and functions. It can contain no URLs, and no
// at-rules except @media. Every selector matches .fs (the form) or elements inside it. A container element clips the
// form, and no selector can match that container. A style sheet therefore cannot cover the [Config.Layout] around the
// form or the bar of a preview. A part of the layout that stays visible while the form scrolls needs a z-index above 0.
//
// # Block properties
//
// Labels and descriptions are shown with the formats and insertions of a [schema.Text], never as HTML. Line
// breaks in descriptions are kept. A pdf block is a link that opens the document in a new tab, because many hosts
// forbid frames and phones cannot show PDF files in them. YouTube and Vimeo videos and embeds load after a click. Video
// files play in the browser's own player.
//
// dateFormat asks for a date in three fields in that order, unless showDatePicker uses the browser's date picker. Up to
// ten specificDates are shown as buttons, and up to fifty as a menu. Text below the question lists further dates and
// disabledDays. randomize uses the same random order throughout a visit. A payment is shown but not processed, see
// [Config.HostAnswers]. If a required payment or file is not possible, the first page says that the form cannot be
// submitted, and [Handler.MissingFeatures] reports it too. Form pages ignore numberFormat, showActions, showFields,
// part_of and row_id, which are for other renderers.
//
// # Ignored fields
//
//	Settings       responseLimit, closed, openAt, closeAt, duplicateField: the service uses them
//	Settings       cover.image.id, cover.image.width, cover.image.height
//	Theme          logo.id, background.image.id, background.image.width, background.image.height
//	Theme.Colors   popover, popoverForeground, chart1 to chart5, and every name that starts with sidebar
//
// # Abuse
//
// A hidden field and a minimum time for filling in a form detect simple bots. [Config.Limiter] limits how often an IP
// address can submit, and [Config.Verifiers] check CAPTCHAs. If a check fails, the page is shown again with the input.
//
// # Respondents
//
// [Config.Respondent] returns the person who is answering, and the page names this person. Submissions and partial
// submissions are stored with this respondent, so a respondent continues on any device without a link. Each page belongs
// to the respondent who opened it: if the session changes, or another site posts the page, nothing is stored until the
// respondent confirms. With settings.onePerRespondent, the page says when the respondent has already submitted the form,
// or that signing in is required, see [Config.SignIn]. With settings.anonymous, the page says so, and Respondent is not
// called.
//
// # Edits
//
// [Handler.EditPath] creates a signed link to a page that is filled in with a stored submission. Its respondent can
// change the answers until the link expires. The link is the host's decision, so it works for closed and unpublished
// forms too, and needs neither a CAPTCHA nor a session. [Handler.EditPathFor] does the same for a user of the host, such
// as a user of the builder.
//
// With settings.editable, a page offers a respondent whom [Config.Respondent] identifies a link to edit: after
// submitting, and where it says that the respondent has already submitted the form. Only this respondent can use the
// link, for a week, and only while the form is published and open. The response limit does not matter. Anonymous forms
// have no respondent, so only signed links can edit their submissions. [Config.Secret] is required.
//
// The page shows the form as it is now, and saving calls [formsvc.Client.UpdateSubmission] with the answers that
// changed. Files, payments and answers to questions that the form no longer has are only shown, and stay as they are,
// except that files are removed with the other answers to hidden questions. Because the form does not say whether a
// deleted question was hidden, answers to hidden blocks that were deleted are shown too. Choices that the host no longer
// offers stay until they change. Hidden fields stay and are not shown. A date keeps its UTC offset unless its day or
// time changes. If a legal text has changed since it was accepted, the page asks again. An optional consent that is not
// answered again stays with its old text.
//
// If someone else has changed the submission in the meantime, nothing is stored. The page then takes over the answers
// that the respondent did not change, lists the stored answers that both changed, and links to the page without the
// respondent's changes. If the link has expired or the submission no longer exists, the response is a 410 with the
// entered text for copying. Submitting a page twice stores one change.
//
// After saving, the page shows the ending of the new answers and says that the changes were saved. It never redirects.
// An edit stores no partial submission, counts no visit, and does not call [Config.Submit] and [Config.HostAnswers].
// Front ends that use the JSON routes cannot edit. They can open the link.
//
// # Preview
//
// [Handler.PreviewPath] creates a signed link to a preview of a stored form, even of a draft. A bar above the form
// lists the form's warnings, captcha blocks without a verifier and the redirect URL, and says whether the form is
// closed. Submitting a preview checks the answers but stores and counts nothing. Editors render forms with
// [Handler.Canvas], even if the content is not valid yet.
//
// # Files
//
// Blocks of type file_upload and signature need [Config.Files]. A file's extension determines its type, unless its
// first bytes rule this type out. Then the bytes determine the type. Files of common types are rejected if their bytes
// contradict their names. The rest of a file is not inspected. To scan for viruses, use [FileStore].Save.
//
// Files are stored when they are uploaded, before the form is submitted. The server's ReadTimeout must therefore be
// long enough for the largest file: 10 MiB take 90 s at 1 Mbit/s. [Config.MaxVisitFiles] limits the files that a visit
// can store before it submits, and [Dir.MaxUnsubmitted] limits such files for all visits together. If a file is not
// part of a submission after a week, you can delete it, see [FileRetainer] and [Dir.Sweep]. To serve files, see
// [FileHandler]. To delete them along with their submissions, see [formsvc.WithFiles].
//
// # Embedding
//
// With embed blocks, a form can show pages from other hosts in frames, but no pages from its own host. Serve forms from
// untrusted authors on a separate origin, because a form can look like any page on its origin.
//
// Any page can show a form in a frame with one line:
//
//	<script src="https://forms.example/f/-/embed.js" data-form="{public_id}" async></script>
//
// To show the form in a dialog, add a button with data-formsvc-open="{public_id}". List the origins of embedding pages
// in [Config.FrameAncestors]. After a submission, the frame fires the event "formsvc:done" once. If the form has a
// redirectUrl, the script then redirects the outer page, unless a listener calls preventDefault. If a page creates the
// frame itself, without the script, the ending has a link to the redirectUrl.
//
// # JSON routes
//
// A host's own front end can use these JSON routes instead of the pages. Their errors have the code, message and faults
// that are described here, not the format of the HTTP API:
//
//   - GET {public_id}/form.json returns the blocks, without hidden blocks, rules (except choices) and ending texts. It
//     also returns a state that the front end sends back, the name of the respondent, and answered_at, if the form
//     accepts one submission per respondent and has one. The state is valid only for this respondent. For another
//     respondent, path, choices and submit return a 409 with the code OTHER_RESPONDENT and a new state. Ask the
//     respondent before sending it.
//   - POST {public_id}/path with {"state","answers","hidden"} returns the blocks to show and the ending.
//   - POST {public_id}/choices with {"state","answers","hidden","block","search"} returns {"choices","selected"}: at most
//     200 choices of a block whose rule has choices, and the choices in its answer. See [formsvc.WithChoices].
//   - POST {public_id}/submit, which also accepts "utm", "captcha", "took" and "legal_texts", stores the submission.
//     legal_texts contains the legalText of each legal block that the front end has shown, by block ID. If a text has
//     changed since then, the answer is NOT_ALLOWED. Without it, the current texts count. The route returns a 201 with
//     {"ending","block","redirect_url"}, where block is the ending, or a 422 with {"code","message","faults"}. If an
//     error contains a "captcha", send this value instead of the token in the next request, because a token is valid
//     only once. If there is a second CAPTCHA, append a space and its token. A 409 means that the CAPTCHA was used for
//     another submission, or, with the code ALREADY_ANSWERED, that the respondent has already submitted the form. A 401
//     means that the form requires signing in. If an error contains a "state", send this state from then on.
//   - POST {public_id}/view and /start, with the state as a form value, count a view and a start.
//
// The JSON contains texts as they are stored, with their marks. The JSON routes accept no files, and the inputs that a
// page uses for files (u.{block} and f.{block}) can change. Show the page of a form with files, such as in a frame. If
// a front end is on another origin, list the origin in [Config.AllowedOrigins].
//
// # Testing a form
//
// A test can fill in a page like a browser without JavaScript, see the [example TestsOfAHost]. It loads the page and
// posts all of its inputs, including state, with the answers filled in. [ParseAnswers] documents the input names. Leave
// the input more_info empty, because only bots fill it in. Answer a legal block with the value of its input. Set
// [Config.MinFillTime] to -1, or wait for two seconds. The response to a post is one of:
//
//	303  to …/done: the submission was stored
//	200  the form's next page, or the same page with questions that depend on the answers
//	422  the same page: violations, a rejection by [Config.Submit], a post within MinFillTime, a missing
//	     state or one signed with another Secret, an ambiguous value to confirm, a CAPTCHA
//	409  the same page: the answer to settings.duplicateField already exists, a CAPTCHA was used
//	     before, a legal text has changed, the form no longer has a question that was answered, or
//	     another respondent opened the page; or the respondent has already submitted the form; or someone
//	     else changed the submission that an edit changes
//	401  the form requires signing in
//	410  the form was closed, unpublished or moved to the trash after the page was opened, or the link of
//	     an edit has expired
//	413  the same page: the post is larger than MaxBody, or than the limit of an http.MaxBytesHandler
//	429  the same page: [Config.Limiter]
//	403  the post is from another origin, or the form is not open yet
//	404  the form does not exist, or was always a draft
//	503  the same page: the storage, [Config.Respondent], or the host's choices or checks are not available, or
//	     [Config.Submit] returned another error. If the form cannot be read: the input, and a button that submits
//	     it again
//
// [example TestsOfAHost]: https://pkg.go.dev/github.com/formsvc/formsvc/handler/formpage#example-package-TestsOfAHost
package formpage
