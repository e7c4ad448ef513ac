package schema

// Warning is something in a definition that makes a form unanswerable, or that has no effect. It refuses no write.
type Warning struct {
	// Path is a JSON Pointer into the definition: /blocks/3/properties/max.
	Path string `json:"path"`
	// Code is one of the Warn constants.
	Code string `json:"code"`
	// Message describes the problem in English. It names blocks and choices by their labels.
	Message string `json:"message"`
	// Params has what a page needs to say it in another language: "reason" distinguishes the reasons of one code, "block"
	// and "label" name a block, "choice" is a choice's id.
	Params map[string]any `json:"params,omitempty"`
}

// Warnings are the warnings of one definition: in the order of its blocks, then those of its settings. They are those
// that were found: a form without any may still have blocks that are never reached, or members that change nothing.
type Warnings []Warning

// The codes of a [Warning].
const (
	// WarnUnanswerableForm: no response is ever accepted. The warning is reported at the blocks. Blocks that no path
	// avoids have a WarnUnanswerableBlock.
	WarnUnanswerableForm = "UNANSWERABLE_FORM"
	// WarnUnanswerableBlock means that no answer to the block can be accepted.
	WarnUnanswerableBlock = "UNANSWERABLE_BLOCK"
	// WarnUnreachable: no respondent ever comes to the block, though it is not hidden. The message says why.
	WarnUnreachable = "UNREACHABLE"
	// WarnNoEffect means that a field has no effect, such as a limit that is turned off.
	WarnNoEffect = "NO_EFFECT"
	// WarnUnfinished: something is missing that respondents look for: the text of a question or a choice, a link, a
	// picture, the blocks of a group. A page shows an id, or nothing.
	WarnUnfinished = "UNFINISHED"
	// WarnDuplicateField: settings.duplicateField names no block, or one whose answers are never compared.
	WarnDuplicateField = "DUPLICATE_FIELD"

	// WarnMalformedRule: a part of a rule is not what it must be and is ignored. The rule may be written in another shape
	// ("conditions"), or have no member that counts.
	WarnMalformedRule = "MALFORMED_RULE"
	// WarnUnreadableLogic means that logic uses an operator that does not exist. The logic is ignored.
	WarnUnreadableLogic = "UNREADABLE_LOGIC"
	// WarnUnknownTarget: a jump leads to a block that the form does not have at the top level, and is ignored.
	WarnUnknownTarget = "UNKNOWN_TARGET"
	// WarnBackwardJump means that a jump does not go to a later block. The jump is ignored.
	WarnBackwardJump = "BACKWARD_JUMP"
	// WarnUnknownName means that a rule reads or sets something that the form does not have.
	WarnUnknownName = "UNKNOWN_NAME"
	// WarnNotYetKnown means that a rule reads an answer that respondents give only after the rule runs.
	WarnNotYetKnown = "NOT_YET_KNOWN"
	// WarnNeverHolds: a condition, or a part of one, holds for no response: no answer is like that, because of the block's
	// type, its choices or its limits.
	WarnNeverHolds = "NEVER_HOLDS"
	// WarnAlwaysHolds: a condition, or a part of one, that reads something holds for every response.
	WarnAlwaysHolds = "ALWAYS_HOLDS"
	// WarnCostlyRules: the rules together may take more steps than a response may cost, which then is refused.
	WarnCostlyRules = "COSTLY_RULES"
)
