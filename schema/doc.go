// Package schema is what a host sees of the API's data: the API description, the typed
// views of a form's definition and of its answers, the limits that a host may set, and the
// error that lists what is wrong with a body or a response.
//
// The description ([OpenAPI]) is the one source for the shape of a request. The service
// enforces it; this package checks nothing by itself.
//
// Below stands what the description cannot say: which answers the blocks take, when two
// answers are the same, and what the rules of a form mean.
//
// # Answers
//
// An answer is sent by the id of its block, and a host passes it on in Response.Answers of
// [github.com/formsvc/formsvc.Service.Submit]. The service normalises the answer. In the
// normalised form the answer is stored, listed, exported and sent to webhooks, and
// [DecodeAnswers] makes Go values of it. By the type of the block:
//
//   - short_text, long_text: a string, stored in Unicode NFC with line feeds for line ends
//     and without white space at its ends, then of at most maxChars characters or, where
//     maxChars is not set, 10,000 and 100,000. short_text is one line. FF, VT, U+2028 and
//     U+2029 are line ends, in one line a space. Other control characters but tab and
//     line feed are refused, and so are bidirectional overrides and embeddings that are
//     not balanced (U+202A to U+202E); balanced ones are dropped. Other invisible
//     characters stay.
//   - email: one address of at most 254 characters: the part before the @ as it was
//     sent, the domain mapped by the lookup profile of IDNA and stored in Unicode and
//     lower case. "Ann <ann@example.com>" and "mailto:ann@example.com" are read as their
//     address, and a full-width @ as the plain one.
//   - phone: a number that is valid by the data of libphonenumber, stored in E.164
//     ("+31201234567"). A national number is taken only where the block's defaultCountry
//     says whose number it is. A number with an extension is refused, as E.164 would lose
//     the extension.
//   - website: an http or https URL of at most 2,048 characters, without credentials;
//     https:// is added when the scheme is missing. The host is a domain as in an
//     email address, stored in the same form, or an address of the public internet; labels
//     before the last two may contain underscores. Spaces and other characters that browsers
//     escape are escaped in what follows the host.
//   - number, rating, opinion_scale, nps: a JSON number, or a string that holds a number.
//     The digits stay as they were sent, without trailing zeros of a fraction; an
//     exponent is written out where it is short, and a fraction is rounded to what a
//     float64 holds. The stored number is compared with the bounds. opinion_scale goes
//     from 1 to 10 in steps of 1 where from, to and scaleStep are not set.
//   - yes_no, legal: true or false, or the strings "true" or "false". A legal block
//     that is required, or has legalStopFurther, is REQUIRED when it is false.
//   - single_choice, dropdown, picture_choice: a choice's id ("c1"), or an object with the
//     id, stored as {"id","label"} with the label of the form. With otherOption
//     {"other": text} too, a short text; a blank text chooses nothing.
//   - multiple_choice, and picture_choice with multiSelection: an array of those, or one
//     of them, stored as an array in the order of the definition, other last.
//   - ranking: an array of all choices, each once; the order is the answer.
//   - matrix: an object from row id to a choice, with multiSelection to an array of
//     choices. Rows may be left out unless the block is required.
//   - date: "2026-11-20", in the years 1000 to 9999; with showTimePicker an RFC 3339 time,
//     stored in whole seconds with the offset that was sent. afterDate and beforeDate are the first and the last
//     day that can be chosen. They, specificDates and disabledDays are calendar days
//     ([github.com/formsvc/formsvc.WithTimeZone] says of which zone); the day of an answer
//     with a time is the day that the answer is written with.
//   - time: "08:33"; with showSeconds HH:MM:SS, where missing seconds are 00.
//   - country: an ISO 3166-1 alpha-2 code ("NL"), or an alpha-3 code, stored as alpha-2.
//   - address, contact_info: an object of strings of one line, at most 1,000
//     characters each; email, phone and country as above. Parts that are required must
//     be there once any part is there, zip and state only where addresses of the country have
//     them. The country is that of the answer, or defaultCountry where it is hidden; without
//     one all parts count.
//   - file_upload: an array of {"id","name","url","mime_type","size"}, or one such
//     object, at most 100. The name has no path, the file is not empty and its type is one
//     of allowedFiles: extensions that mean the same, such as .jpg and .jpeg, count as one, and
//     a picture counts as what its media type says, whatever its extension is.
//   - signature: one such object, a picture.
//   - payment: {"amount","currency","status","gateway","reference"}; the amount is
//     a decimal string or a number, stored as a string. Amount and currency have to be
//     those that the block names. currency and gateway may be left out where the block
//     names them, reference always. A required payment has the status "paid".
//
// null, [] and text of which nothing can be seen mean unanswered, to a block of any type
// and whether the block is required or not. An unanswered block is absent from what is
// stored. An answer to a block that takes none (content, groups) is NOT_ALLOWED, an answer
// to an id that the form does not have UNKNOWN_FIELD. An answer to a captcha is accepted
// and not stored. The answers of one response may have 64 KiB of text that is not in NFC
// and of addresses beyond ASCII, since checking such text is slow.
//
// file_upload, signature, payment and any block with properties.hide are answered only in
// Response.HostAnswers: the host gives these answers, never the respondent, who could forge
// them.
//
// Every fault is reported at once, in an [Error]. A [Violation] has a code, a sentence in
// English that a respondent can read, and in Params what a page needs to say the sentence
// in another language ([CodeParams]).
//
// # Two answers that are the same
//
// settings.duplicateField names a block whose answer must be new for the form. Two answers
// are the same when they mean the same, also when the form has changed in between:
//
//   - short_text, long_text: the same text after NFKC and case folding, with white space
//     collapsed.
//   - email: the same address after case folding, with the domain in its ASCII form.
//   - phone: the same number in E.164.
//   - website: the same URL without scheme, default port and one slash at the end of the
//     path, the host in lower case; path and query exactly.
//   - number, rating, opinion_scale, nps: the same value, however its digits are written.
//   - single_choice, dropdown, picture_choice, multiple_choice, ranking: the same ids of
//     choices, of other the same text; the order counts in a ranking only.
//   - date, time: as stored.
//
// Texts are compared with each other whatever their types are. Answers of the other types
// are never the same.
//
// # Rules
//
// The rule of a top-level block, in properties.rule, says which blocks a respondent meets,
// which blocks must be answered, and where the form goes on:
//
//	{
//	  "show": L,                 // the block is off the path unless L holds
//	  "require": L,              // in place of required
//	  "set": {"score": L},       // new values for variables of the definition
//	  "next": [{"if": L, "to": "a_later_block"}, {"to": "end"}]
//	}
//
// All members are optional. L is JsonLogic (jsonlogic.com), see below. [Rule] writes a rule in Go:
//
//	schema.Rule(schema.When("nps").Below(7).GoTo("why").Otherwise("thanks"))
//
// The path is walked once, in the order of the blocks. A block that its show, or
// properties.hide, takes off the path runs nothing of its rule. On the path, require is
// evaluated first; then the answer is taken; then set gives variables their new values,
// all at once; then the first next whose if holds, or that has no if, jumps to a later
// block. The path ends at the first block of the type ending; "end" goes to the first
// ending that neither show nor hide takes off the path. Answers to blocks that were not
// reached yet are null to a rule. A faulty answer is unanswered to rules.
//
// [github.com/formsvc/formsvc.Service.Submit] walks the path that
// [github.com/formsvc/formsvc.Service.Path] shows for the same answers, the host's included:
// an answer to a block off the path is dropped, unchecked. A block with properties.hide is
// never on the path; only the host may answer it, and rules read that answer as any other.
//
// A variable takes a finite number, or a text of at most 10,000 characters; with any other
// value it stays as it is. The variables that rules set are kept with the response, as
// answers of the type "variable", and sent to webhooks.
//
// Logic with an unknown operator, a jump backward or to no block, and a variable that the
// definition does not have are ignored and refuse no response:
// [github.com/formsvc/formsvc.Service.Warnings] finds them. All rules of a form together
// take at most 100,000 steps for one response, about 2 ms; a form with 20 rules takes some
// hundred. A response that would take more steps is refused with an [Error].
//
// Five forms are examples of package [github.com/formsvc/formsvc]: they skip a section, ask
// a quota question, count a score for two endings, show the rest of an address, and end
// early.
//
// # What rules read
//
// The data of a rule is
//
//	{"answers": {...}, "hidden": {...}, "variables": {...}}
//
// A choice is its id, a text of the respondent's own is {"other": "..."}, several choices
// are an array, a matrix is an object of column ids by row id, and a date with a time is in
// UTC. All other answers are as they are stored. A hidden field is a text; a field that is
// empty or not declared is null.
//
// Comparisons by <, <=, > and >= with an unanswered question are false. In arithmetic (+, -,
// *, /, %, min and max) an unanswered question counts as 0. Another default is
// {"var": ["answers.age", 18]}.
//
// # JsonLogic
//
// The operators are if, ?:, and, or, !, !!, ==, ===, !=, !==, <, <=, >, >=, min, max, +, -,
// *, /, %, cat, substr, in, merge, var, missing, missing_some, some, all and none. An object
// with exactly one member is an operation, any other object is a value of its own, and the
// items of an array are evaluated.
//
// Results are those of the JavaScript implementation, json-logic-js, but where its ways
// would surprise:
//
//   - var sees own members only. It tries a whole path such as answers.a.b as the block
//     with the id a.b before it takes the part b of the block a, because ids of blocks may
//     contain dots; so too for what is left of the path.
//   - Texts are compared, cut and counted by code points.
//   - <, <=, > and >= are false when an operand is null. To in and substr null is not the
//     text "null". To + and * null is 0, as it is to the rest of arithmetic.
//   - Arrays and objects are equal when their contents are.
//   - Where the JavaScript throws an error the result is null.
//   - Unknown operators are found before the logic runs, and make all of it unreadable.
package schema
