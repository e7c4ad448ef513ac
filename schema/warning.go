package schema

// Warning is a problem in a definition that does not block a write: it makes the form unanswerable, or part of the
// definition has no effect.
type Warning struct {
	// Path is a JSON Pointer into the definition: /blocks/3/properties/max.
	Path string `json:"path"`
	// Code is one of the Warn constants.
	Code string `json:"code"`
	// Message describes the problem in English. It names blocks and choices by their labels.
	Message string `json:"message"`
	// Params has the values that a translated message needs. The field "reason" distinguishes the reasons of one code,
	// "block" and "label" identify a block, and "choice" is a choice's ID.
	Params map[string]any `json:"params,omitempty"`
}

// Warnings are the warnings of one definition, in the order of its blocks, then those for its settings. They are not
// complete: a form without warnings can still have blocks that respondents never reach, or properties without effect.
type Warnings []Warning

// The codes of a [Warning].
const (
	// WarnUnanswerableForm means that no response can be accepted. The path of the warning is /blocks. Each block that
	// is on every path and accepts no answer has a WarnUnanswerableBlock.
	WarnUnanswerableForm = "UNANSWERABLE_FORM"
	// WarnUnanswerableBlock means that no answer to the block can be accepted.
	WarnUnanswerableBlock = "UNANSWERABLE_BLOCK"
	// WarnUnreachable means that no respondent reaches the block, although it is not hidden. The message says why.
	WarnUnreachable = "UNREACHABLE"
	// WarnNoEffect means that a field has no effect, such as a limit that is turned off.
	WarnNoEffect = "NO_EFFECT"
	// WarnUnfinished means that content is missing: the text of a question or a choice, a link, an image, or the blocks
	// of a group. Respondents then see an ID, or nothing.
	WarnUnfinished = "UNFINISHED"
	// WarnDuplicateField means that settings.duplicateField is not the ID of a block, or that answers to the block
	// cannot be compared.
	WarnDuplicateField = "DUPLICATE_FIELD"

	// WarnMalformedRule means that part of a rule is invalid and ignored. The rule may have another format
	// ("conditions"), or no field that has an effect.
	WarnMalformedRule = "MALFORMED_RULE"
	// WarnUnreadableLogic means that logic uses an operator that does not exist. The logic is ignored.
	WarnUnreadableLogic = "UNREADABLE_LOGIC"
	// WarnUnknownTarget means that a jump goes to a block that the form does not have at the top level. The jump is
	// ignored.
	WarnUnknownTarget = "UNKNOWN_TARGET"
	// WarnBackwardJump means that a jump does not go to a later block. The jump is ignored.
	WarnBackwardJump = "BACKWARD_JUMP"
	// WarnUnknownName means that a rule reads or sets something that the form does not have.
	WarnUnknownName = "UNKNOWN_NAME"
	// WarnNotYetKnown means that a rule reads an answer that respondents give only after the rule runs.
	WarnNotYetKnown = "NOT_YET_KNOWN"
	// WarnNeverHolds means that a condition, or a part of it, is never true because of the block's type, choices or
	// limits.
	WarnNeverHolds = "NEVER_HOLDS"
	// WarnAlwaysHolds means that a condition, or a part of it, is true for every response, whatever the answer.
	WarnAlwaysHolds = "ALWAYS_HOLDS"
	// WarnCostlyRules means that the rules together can exceed the limit of steps for one response. Responses that
	// exceed it are rejected.
	WarnCostlyRules = "COSTLY_RULES"
)
