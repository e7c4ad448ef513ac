// Package schema contains the API description, Go types for definitions and answers, the limits that a host can set,
// and the error that lists the violations in a body or a submission.
//
// The API description ([OpenAPI]) defines the format of requests, which the service enforces. The sections below
// describe rules that the API description cannot express: which answers are accepted, how they are compared, and how a
// form's rules work.
//
// # Answers
//
// Requests map block IDs to answers. A host passes the answers in SubmitParams.Answers to
// [github.com/formsvc/formsvc.Service.Submit]. The service normalizes each answer, and uses the normalized form in the
// storage, lists, exports and webhooks. [DecodeAnswers] converts stored answers to Go values. The block types accept
// these answers:
//
//   - short_text, long_text: a string, stored in Unicode NFC with line feeds as line ends and without whitespace at
//     both ends. Its maximum length is maxChars, by default 10,000 characters for short_text and 100,000 for long_text.
//     short_text has one line. FF, VT, U+2028 and U+2029 are line ends, or spaces in short_text. Other control
//     characters except tab and line feed are rejected. Unbalanced bidirectional overrides and embeddings (U+202A to
//     U+202E) are rejected, and balanced ones are removed. Other invisible characters are not changed.
//   - email: one address of at most 254 characters. The part before the @ is not changed. The domain is mapped by the
//     lookup profile of IDNA, and stored in lowercase Unicode. For "Ann <ann@example.com>" and
//     "mailto:ann@example.com", the address is extracted. A full-width @ is converted.
//   - phone: a number that is valid according to libphonenumber, stored in E.164 ("+31201234567"). A national number is
//     accepted only if the block has a defaultCountry. A number with an extension is rejected, because E.164 cannot
//     store the extension.
//   - website: an http or https URL of at most 2,048 characters, without credentials. If the scheme is missing,
//     https:// is added. The host is a domain as in an email address, stored in the same form, or a public IP address.
//     Labels before the last two may contain underscores. In the rest of the URL, spaces and other characters that
//     browsers escape are escaped.
//   - number, rating, opinion_scale, nps: a JSON number, or a string with a number. The digits are stored as they were
//     sent, without trailing zeros of a fraction. A short exponent is expanded, and a fraction is rounded to the
//     precision of a float64. The limits apply to the stored number. For opinion_scale, from, to and scaleStep default
//     to 1, 10 and 1.
//   - yes_no, legal: true or false, or the strings "true" or "false". If a legal block is required or has
//     legalStopFurther, answering false is a REQUIRED violation. The stored answer contains the form's legalText,
//     without formats and with the URLs of its links.
//   - single_choice, dropdown, picture_choice: a choice ID ("c1"), or an object with the ID. It is stored as
//     {"id","label"} with the label of the form. With otherOption, {"other": text} with a short text is also accepted.
//     A blank text selects nothing.
//   - multiple_choice, and picture_choice with multiSelection: an array of such choices, or one choice. It is stored as
//     an array in the order of the definition, with other at the end.
//   - ranking: an array of all choices, each once, in the respondent's order.
//   - matrix: an object that maps row IDs to a choice, or with multiSelection to an array of choices. Rows can be
//     missing unless the block is required.
//   - date: "2026-11-20", in the years 1000 to 9999. With showTimePicker, an RFC 3339 time, stored in whole seconds
//     with its original offset. afterDate and beforeDate are the first and the last allowed day. These properties,
//     specificDates and disabledDays contain calendar days in the time zone of
//     [github.com/formsvc/formsvc.WithTimeZone]. An answer with a time belongs to the day in its own offset.
//   - time: "08:33", or with showSeconds HH:MM:SS. Missing seconds are 00.
//   - country: an ISO 3166-1 alpha-2 code ("NL"), or an alpha-3 code, which is stored as alpha-2.
//   - address, contact_info: an object of one-line strings with at most 1,000 characters each. Its email, phone and
//     country have the formats described above. If any part is present, all required parts must be present. If the
//     answer has a country, zip and state are required only if addresses in that country have them. If the country is
//     hidden, defaultCountry applies. Without a country, zip and state can also be required.
//   - file_upload: an array of at most 100 objects {"id","name","url","mime_type","size"}, or one such object. The name
//     has no path, and the file is not empty. Its type is one of allowedFiles, where equivalent extensions such as .jpg
//     and .jpeg count as one. For a picture, the media type takes precedence over the extension.
//   - signature: one file object as in file_upload, whose file is a picture.
//   - payment: {"amount","currency","status","gateway","reference"}. The amount is a decimal string or a number, stored
//     as a string. Amount and currency must be those of the block. currency and gateway are optional if the block
//     defines them, and reference is always optional. A required payment has the status "paid".
//
// For every block type, null, [] and text without visible characters mean that the block is unanswered, even if it is
// required. Unanswered blocks are not stored. An answer to content or a group results in NOT_ALLOWED, and an answer
// with an unknown block ID results in UNKNOWN_FIELD. An answer to a captcha block is accepted but not stored. Some text
// is slow to check. Therefore, a submission can contain at most 64 KiB of text that is not in NFC and of email
// addresses and URLs that are not in ASCII.
//
// Answers to file_upload, signature, payment and any block with properties.hide are accepted only from the host, in
// SubmitParams.HostAnswers, because a respondent could forge them. An [Error] contains all violations. A [Violation]
// has a code, an English sentence for respondents, and Params for translating this sentence ([CodeParams]).
//
// # Comparison of answers
//
// The answers to the block in settings.duplicateField must be unique in the form. Two answers are equal if they have
// the same value in this sense, even if the form has changed in the meantime:
//
//   - short_text, long_text: the same text after NFKC and case folding, with whitespace collapsed.
//   - email: the same address after case folding, with the domain in its ASCII form.
//   - phone: the same number in E.164.
//   - website: the same URL without scheme, default port and one slash at the end of the path. The host is compared in
//     lowercase, the path and query exactly.
//   - number, rating, opinion_scale, nps: the same value, in any notation.
//   - single_choice, dropdown, picture_choice, multiple_choice, ranking: the same choice IDs, and the same “Other”
//     text. The order counts only in a ranking.
//   - date, time: the same stored value.
//
// Text answers are compared even if the block types differ. Other answers of different types are never equal.
//
// # Respondents
//
// A host can pass its own ID of a signed-in person in SubmitParams.Respondent. With settings.onePerRespondent, a form
// accepts one submission of each respondent, and none without a respondent. IDs are compared exactly, and earlier
// submissions count too. With settings.anonymous, the form stores no respondent, user agent and device, and
// settings.onePerRespondent has no effect, so a respondent can submit more than once. The time of each submission is
// stored to the second. Together with other records of the host, such as its logs, it can identify the respondent.
//
// # Rules
//
// The rule of a top-level block is in properties.rule. It determines which blocks are on the path, which blocks require
// an answer, which answers are accepted, and which block is next:
//
//	{
//	  "show": L,                 // the block is on the path only if L is true
//	  "require": L,              // overrides the block's field required
//	  "set": {"score": L},       // new values for variables of the definition
//	  "next": [{"if": L, "to": "a_later_block"}, {"to": "end"}],
//	  "check": [{"if": L, "say": "message"}, {"host": "name"}],   // rejects the answer
//	  "choices": {"list": "name", "by": "answers.an_earlier_block"}
//	}
//
// All fields are optional. L is JsonLogic (jsonlogic.com), as described below. [Rule] creates a rule in Go:
//
//	schema.Rule(schema.When("nps").Below(7).GoTo("why").Otherwise("thanks"))
//
// The service computes the path once, in the order of the blocks. If show or properties.hide removes a block from the
// path, the rest of its rule is ignored. For other blocks, the service first evaluates the rule's field require. It
// then reads the answer, runs the checks in the field check, and sets all variables in the field set at the same time.
// The first entry in the field next whose condition (if) is true or missing jumps to a later block. The path ends at the
// first block of the type ending. "end" jumps to the first ending that neither show nor hide removes from the path. When
// a rule is evaluated, answers to later blocks are null, and invalid answers count as unanswered.
//
// [github.com/formsvc/formsvc.Service.Submit] uses the same path as [github.com/formsvc/formsvc.Service.Path] for the
// same answers, including the host's answers. Submit discards answers to blocks that are not on the path, without
// checking them. A block with properties.hide is never on the path. Only the host can answer such a block, and rules
// read its answer like any other.
//
// A check rejects the answer to its block if its condition is true. The submission is rejected with [CodeCheckFailed]
// and the message, and [github.com/formsvc/formsvc.Service.Path] returns the same violation. Checks run only if the
// block has a valid answer. The checks of a group run after its blocks, and only if no block of the group has a
// violation, so that they can compare its answers. Only the first check of a block that is true is reported. For rules,
// the rejected answer of a block is unanswered. Blocks inside groups can have checks and choices, but no other part of a
// rule. Partial submissions are not checked. The message has the marks of a [Text], and the violation's Message is its
// plain text. A write with an invalid check is rejected.
//
// A check with the field host is a function of the program that embeds the service: see
// [github.com/formsvc/formsvc.WithCheck]. The field choices takes the choices of a single_choice, multiple_choice,
// picture_choice or dropdown block from a list of this program, in place of the block's own choices: see
// [github.com/formsvc/formsvc.WithChoices]. The list receives the value at the path by. Submit accepts only choices that
// the list offers, and stores their labels. Rules and Path use the IDs of choices without a check.
//
// A variable is a finite number, or a text of at most 10,000 characters. If a rule sets any other value, the variable
// does not change. Variables that rules set are stored with the submission as answers of the type "variable", and sent
// to webhooks.
//
// The service ignores other invalid parts of rules: logic with an unknown operator, a jump backward or to a missing
// block, and an undefined variable. [github.com/formsvc/formsvc.Service.Warnings] reports them. All rules of a form
// together can take at most 100,000 steps per submission, about 2 ms. Otherwise the submission is rejected with an
// [Error]. The rules of a form with 20 rules take a few hundred steps.
//
// Package [github.com/formsvc/formsvc] contains five example forms with rules.
//
// # Data of rules
//
// The data that a rule can read is
//
//	{"answers": {...}, "hidden": {...}, "variables": {...}}
//
// A choice is represented by its ID, and the text of an "Other" option by {"other": "..."}. Several choices are an
// array. A matrix is an object that maps row IDs to column IDs. A date with a time is in UTC. All other answers are in
// their stored format. A hidden field is a text, or null if it is empty or undeclared.
//
// Comparisons of an unanswered question with <, <=, > and >= are false. In arithmetic (+, -, *, /, %, min and max), an
// unanswered question counts as 0. To use another default, write {"var": ["answers.age", 18]}.
//
// # JsonLogic
//
// The operators are if, ?:, and, or, !, !!, ==, ===, !=, !==, <, <=, >, >=, min, max, +, -, *, /, %, cat, substr, in,
// merge, var, missing, missing_some, some, all and none. An object with exactly one field is an operation. Any other
// object is a value. Array items are evaluated. There are five more operators:
//
//   - {"match": [text, pattern]} is true if the pattern matches the whole text. The pattern is a literal in the syntax
//     of package regexp, which is that of RE2. It can compile to at most 1,000 instructions. Matching takes
//     instructions × bytes / 256 steps, and at least 1. Only texts match.
//   - {"length": [value]} is the number of code points of a text, or of items of an array. It is 0 for null, and null
//     for other values.
//   - {"round": [number, decimals]} rounds to up to 10 decimals, by default 0. It rounds the decimal digits half away
//     from zero: 1.005 with two decimals is 1.01.
//   - {"today": []} is the day of the submission in the service's time zone, such as "2026-11-20". For an imported
//     submission, it is the day of SubmittedAt.
//   - {"days": [from, to]} is the number of days from one date to another, or null if one is not a date. The day of a
//     date with a time is in UTC.
//
// Results are the same as in the JavaScript implementation, json-logic-js, with these exceptions:
//
//   - var reads only own properties of objects. For a path such as answers.a.b, it first looks for a block with the ID
//     a.b, and then for the part b of the block a, because block IDs can contain dots. The rest of the path is resolved
//     in the same way.
//   - Texts are compared, split and counted by code points.
//   - <, <=, > and >= are false if an operand is null. For in and substr, null is not the text "null". For + and *,
//     null is 0, as in other arithmetic.
//   - Arrays and objects are equal if their contents are.
//   - Where the JavaScript implementation throws an error, the result is null.
//   - Unknown operators and invalid patterns are detected before the evaluation, and make the whole logic invalid.
package schema
