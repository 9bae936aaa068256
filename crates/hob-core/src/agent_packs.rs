//! The agents AgentLoop's clients know, as data, and the router that picks one by a message's
//! words. Pure.
//!
//! Invariant: the same words always lead to the same agent, and the first one of the table is for
//! everything that asks for none.

/// An agent: what it may use and how it is asked to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pack {
    pub name: &'static str,
    pub about: &'static str,
    /// Tools by name; what is not there is left out.
    pub tools: &'static [&'static str],
    /// Its layer of the system prompt.
    pub prompt: &'static str,
    /// Words or phrases that ask for it, in lower case.
    words: &'static [&'static str],
}

/// Why an agent was picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The message has this word.
    Word(&'static str),
    /// Nothing in the message asks for another.
    Nothing,
}

const LOOK: &[&str] = &["read", "list", "glob", "grep"];
const TRIAGE: &[&str] = &["read", "list", "glob", "grep", "exec", "output", "time"];
const CHANGE: &[&str] = &[
    "read", "list", "glob", "grep", "write", "edit", "move", "remove", "exec", "process", "output",
];
const USE: &[&str] = &[
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

/// Every agent; the first is for what asks for none. Where words of several are found, the order
/// of [`PRECEDENCE`] decides.
pub const PACKS: [Pack; 5] = [
    Pack {
        name: "chat.quick",
        about: "A short answer, without tools.",
        tools: &[],
        prompt: "Answer briefly and directly.",
        words: &[],
    },
    Pack {
        name: "debug.triage",
        about: "Finds out why something fails.",
        tools: TRIAGE,
        prompt: "Find the cause before you propose a change: say what you looked at, what you found, and the smallest next step.",
        words: &[
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
    Pack {
        name: "code.arch",
        about: "Thinks about design, and changes nothing.",
        tools: LOOK,
        prompt: "Think about structure and trade-offs. Look at what is there first, and change nothing.",
        words: &[
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
    Pack {
        name: "code.change",
        about: "Changes files of the workspace.",
        tools: CHANGE,
        prompt: "Make the change that was asked for, as small as it can be, and say what you changed.",
        words: &[
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
    Pack {
        name: "tool.use",
        about: "Looks things up with tools.",
        tools: USE,
        prompt: "Use a tool where it knows better than you do, and answer with what it said.",
        words: &[
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

/// Which of several agents whose words are found is meant, as places in [`PACKS`].
const PRECEDENCE: [usize; 4] = [3, 1, 2, 4];
/// Letters of a message that are looked at; what follows is the matter, not the request.
const LOOKED_AT_CHARS: usize = 4_000;

/// The agent of this name.
pub fn named(name: &str) -> Option<&'static Pack> {
    PACKS.iter().find(|pack| pack.name == name)
}

/// The agent a message asks for.
pub fn route(message: &str) -> (&'static Pack, Reason) {
    let text: String = message
        .chars()
        .take(LOOKED_AT_CHARS)
        .flat_map(char::to_lowercase)
        .collect();
    for place in PRECEDENCE {
        let pack = &PACKS[place];
        if let Some(word) = pack.words.iter().find(|word| has_word(&text, word)) {
            return (pack, Reason::Word(word));
        }
    }
    (&PACKS[0], Reason::Nothing)
}

/// Whether `word` stands in `text` by itself.
fn has_word(text: &str, word: &str) -> bool {
    let joins = |letter: char| letter.is_alphanumeric() || letter == '_';
    // An address goes on after its beginning.
    let open_end = word.ends_with('/');
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(joins) && (open_end || !after.is_some_and(joins))
    })
}

#[cfg(test)]
#[path = "packs_tests.rs"]
mod tests;
