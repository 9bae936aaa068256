//! The agents of AgentLoop's clients, as data, and the router that picks one by keywords. Pure.
//!
//! Invariant: the same message always gets the same agent; a message without keywords gets the
//! first one of the table.

/// An agent: its tools and its prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AgentPack {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Tool names; tools that do not exist are skipped.
    pub(crate) tools: &'static [&'static str],
    /// The agent's layer of the system prompt.
    pub(crate) prompt: &'static str,
    /// Keywords and phrases that select the agent, in lower case.
    keywords: &'static [&'static str],
}

/// The reason an agent was picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouteReason {
    /// The message contains this keyword.
    Keyword(&'static str),
    /// The message contains no keyword.
    NoKeyword,
}

const READ_TOOLS: &[&str] = &["read", "list", "glob", "grep"];
const TRIAGE_TOOLS: &[&str] = &["read", "list", "glob", "grep", "exec", "output", "time"];
const EDIT_TOOLS: &[&str] = &[
    "read", "list", "glob", "grep", "write", "edit", "move", "remove", "exec", "process", "output",
];
const LOOKUP_TOOLS: &[&str] = &[
    "time",
    "calculate",
    "read",
    "list",
    "glob",
    "grep",
    "web_fetch",
    "model_list",
    "agent_status",
];

/// All agents; the first is the default. If keywords of several match, [`PRECEDENCE`] decides.
pub(crate) const PACKS: [AgentPack; 5] = [
    AgentPack {
        name: "chat.quick",
        about: "A short answer, without tools.",
        tools: &[],
        prompt: "Answer briefly and directly.",
        keywords: &[],
    },
    AgentPack {
        name: "debug.triage",
        about: "Finds out why something fails.",
        tools: TRIAGE_TOOLS,
        prompt: "Find the cause before you propose a change: say what you looked at, what you found, and the smallest next step.",
        keywords: &[
            "error",
            "errors",
            "exception",
            "traceback",
            "stack trace",
            "panic",
            "crash",
            "crashes",
            "crashed",
            "fails",
            "failing",
            "failed",
            "debug",
            "bug",
            "broken",
            "not working",
            "doesn't work",
        ],
    },
    AgentPack {
        name: "code.arch",
        about: "Thinks about design, and changes nothing.",
        tools: READ_TOOLS,
        prompt: "Think about structure and trade-offs. Look at what is there first, and change nothing.",
        keywords: &[
            "architecture",
            "architect",
            "design",
            "trade-off",
            "trade-offs",
            "tradeoff",
            "tradeoffs",
            "structure",
            "refactoring plan",
        ],
    },
    AgentPack {
        name: "code.change",
        about: "Changes files of the workspace.",
        tools: EDIT_TOOLS,
        prompt: "Make the change that was asked for, as small as it can be, and say what you changed.",
        keywords: &[
            "implement",
            "refactor",
            "rename",
            "fix",
            "edit",
            "patch",
            "write a test",
            "add a test",
            "change the code",
            "rewrite",
        ],
    },
    AgentPack {
        name: "tool.use",
        about: "Looks things up with tools.",
        tools: LOOKUP_TOOLS,
        prompt: "Use a tool where it knows better than you do, and answer with what it said.",
        keywords: &[
            "time",
            "date",
            "today",
            "calculate",
            "file",
            "files",
            "folder",
            "directory",
            "list",
            "read",
            "search",
            "status",
            "http://",
            "https://",
        ],
    },
];

/// The order in which agents are tried, as indexes into [`PACKS`].
const PRECEDENCE: [usize; 4] = [3, 1, 2, 4];
/// The characters of a message that are searched; long pasted text after them is data, not the
/// request.
const ROUTED_CHARS_MAX: usize = 4_000;

/// Returns the agent of this name.
pub(crate) fn find(name: &str) -> Option<&'static AgentPack> {
    PACKS.iter().find(|pack| pack.name == name)
}

/// Returns the agent for a message.
pub(crate) fn route(message: &str) -> (&'static AgentPack, RouteReason) {
    let text: String = message
        .chars()
        .take(ROUTED_CHARS_MAX)
        .flat_map(char::to_lowercase)
        .collect();
    // Specific agents come first: words such as `file` or `time` occur in most requests.
    for place in PRECEDENCE {
        let pack = &PACKS[place];
        if let Some(word) = pack.keywords.iter().find(|word| has_keyword(&text, word)) {
            return (pack, RouteReason::Keyword(word));
        }
    }
    (&PACKS[0], RouteReason::NoKeyword)
}

/// Returns true if `word` occurs in `text` as a whole word.
fn has_keyword(text: &str, word: &str) -> bool {
    let joins = |letter: char| letter.is_alphanumeric() || letter == '_';
    // A URL continues after its scheme, so only the start is checked.
    let open_end = word.ends_with('/');
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(joins) && (open_end || !after.is_some_and(joins))
    })
}

#[cfg(test)]
#[path = "agent_packs_tests.rs"]
mod tests;
