//! What is special about a built-in tool beyond its declaration. Data only.
//!
//! Invariant: a tool of an outside service has none of these; only hob's own code grants them.

/// The special treatment of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolTraits {
    /// The session kind whose runs call it without being asked: the call reaches only what belongs
    /// to that session.
    pub free_for_kind: Option<&'static str>,
    /// No child run has it, because it reaches other conversations.
    pub closed_to_children: bool,
    /// A run that nobody watches is not offered it, unless the run names the tool or a stored rule
    /// allows it something.
    pub hidden_when_unwatched: bool,
    /// The scope `admin` is needed to run it directly, and to read in the audit log what was typed.
    pub needs_admin: bool,
    /// The argument that is typed into a person's shell. It is shown as `$ COMMAND`, and so are the
    /// lines of the preview that begin with `$ ` and `> `.
    pub typed_argument: Option<&'static str>,
    /// The system prompt of a request in plain words, which is offered this tool only.
    pub plain_language: Option<&'static str>,
}

impl ToolTraits {
    /// Nothing special.
    pub const NONE: ToolTraits = ToolTraits {
        free_for_kind: None,
        closed_to_children: false,
        hidden_when_unwatched: false,
        needs_admin: false,
        typed_argument: None,
        plain_language: None,
    };
}
