package schema

// Warning describes a part of a definition that makes a form unanswerable or has no effect. Warnings do not prevent
// writes.
type Warning struct {
	// Path is a JSON Pointer into the definition, such as /blocks/3/properties/max.
	Path string `json:"path"`
	// Code is one of the Warn constants.
	Code string `json:"code"`
	// Message describes the problem in English. It contains the labels of blocks and choices.
	Message string `json:"message"`
	// Params are the values in Message. A page can use them to write Message in another language. "reason"
	// distinguishes the reasons for one code, "block" and "label" identify a block, and "choice" is a choice ID.
	Params map[string]any `json:"params,omitempty"`
}

// Warnings are the warnings for a definition, first for its blocks in order, then for its settings. Some problems are
// not detected, so a form without warnings can still have unreachable blocks or fields without effect.
type Warnings []Warning

// These are the codes of a [Warning].
const (
	// WarnUnanswerableForm means that no submission can be accepted. The path of the warning is /blocks. In addition,
	// each unanswerable block that is on every path has a WarnUnanswerableBlock. With the path /settings/openAt, the form
	// closes before it opens.
	WarnUnanswerableForm = "UNANSWERABLE_FORM"
	// WarnUnanswerableBlock means that no answer to the block can be accepted.
	WarnUnanswerableBlock = "UNANSWERABLE_BLOCK"
	// WarnUnreachable means that no path contains the block although it is not hidden. The message says why.
	WarnUnreachable = "UNREACHABLE"
	// WarnNoEffect means that a field has no effect, such as a min without minVal.
	WarnNoEffect = "NO_EFFECT"
	// WarnUnfinished means that the text of a question or choice, a link, an image or a group's children are missing. A
	// page then shows an ID or nothing.
	WarnUnfinished = "UNFINISHED"
	// WarnMalformedText means that a mark in a text is shown as it is, because it is incomplete or not allowed. See
	// [Text].
	WarnMalformedText = "MALFORMED_TEXT"
	// WarnDuplicateField means that settings.duplicateField is not the ID of a block whose answers are compared.
	WarnDuplicateField = "DUPLICATE_FIELD"

	// WarnMalformedRule means that a part of a rule is malformed and ignored, that the rule is in another format
	// ("conditions"), or that no field of the rule has an effect.
	WarnMalformedRule = "MALFORMED_RULE"
	// WarnUnreadableLogic means that logic is ignored because it contains an unknown operator or an invalid pattern.
	WarnUnreadableLogic = "UNREADABLE_LOGIC"
	// WarnUnknownTarget means that a jump is ignored because its target is not a top-level block.
	WarnUnknownTarget = "UNKNOWN_TARGET"
	// WarnBackwardJump means that a jump is ignored because its target is not a later block.
	WarnBackwardJump = "BACKWARD_JUMP"
	// WarnUnknownName means that a rule reads or sets a name that does not exist in the form, or that a text inserts
	// such a name.
	WarnUnknownName = "UNKNOWN_NAME"
	// WarnNotYetKnown means that a rule reads an answer that is given, or a variable that is set, only after the rule is
	// evaluated, or that a text inserts an answer of a later page.
	WarnNotYetKnown = "NOT_YET_KNOWN"
	// WarnNeverHolds means that a condition or a part of it is false for all answers that the block allows by its type,
	// choices and limits.
	WarnNeverHolds = "NEVER_HOLDS"
	// WarnAlwaysHolds means that a condition or a part of it reads a value but is true for every submission.
	WarnAlwaysHolds = "ALWAYS_HOLDS"
	// WarnCostlyRules means that all rules together can exceed the maximum number of steps for a submission. A
	// submission that exceeds it is rejected.
	WarnCostlyRules = "COSTLY_RULES"
)
