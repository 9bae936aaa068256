//! The agents of AgentLoop's clients: the built-in ones as data, those that a workspace changes or
//! adds, and the router that picks one by keywords. Pure.
//!
//! Invariants: the same message always gets the same agent; a message without keywords gets the
//! first one. The built-in agents are always there, and a workspace's own agents are only pinned.

use crate::agentloop::pack_file::PackFile;

/// What is said of an agent whose file does not describe it.
const NO_DESCRIPTION: &str = "An agent of this workspace.";

/// An agent: its tools and its prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AgentPack {
    pub(crate) name: String,
    pub(crate) about: String,
    /// Names or aliases of tools; tools that do not exist are skipped.
    pub(crate) tools: Vec<String>,
    /// The agent's layer of the system prompt.
    pub(crate) prompt: String,
}

/// A built-in agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BuiltInAgent {
    name: &'static str,
    about: &'static str,
    tools: &'static [&'static str],
    prompt: &'static str,
    /// Keywords and phrases that select the agent, in lower case.
    keywords: &'static [&'static str],
}

/// All agents of a workspace. The built-in ones come first, in the order of their table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AgentPacks(Vec<AgentPack>);

impl AgentPacks {
    pub(crate) fn built_in() -> AgentPacks {
        AgentPacks(PACKS.into_iter().map(BuiltInAgent::to_pack).collect())
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, AgentPack> {
        self.0.iter()
    }

    /// Returns the agent of this name.
    pub(crate) fn find(&self, name: &str) -> Option<&AgentPack> {
        self.0.iter().find(|pack| pack.name == name)
    }

    /// Returns the agent for a message.
    pub(crate) fn route(&self, message: &str) -> (&AgentPack, RouteReason) {
        let (place, reason) = route(message);
        (&self.0[place], reason)
    }
}

impl Extend<PackFile> for AgentPacks {
    /// Changes the agents that the files name, and adds the others.
    fn extend<T: IntoIterator<Item = PackFile>>(&mut self, files: T) {
        for file in files {
            let found = self.0.iter().position(|pack| pack.name == file.name);
            let place = found.unwrap_or(self.0.len());
            if found.is_none() {
                self.0.push(AgentPack {
                    name: file.name,
                    about: NO_DESCRIPTION.to_owned(),
                    tools: Vec::new(),
                    prompt: String::new(),
                });
            }
            let pack = &mut self.0[place];
            pack.about = file
                .about
                .unwrap_or_else(|| std::mem::take(&mut pack.about));
            pack.tools = file
                .tools
                .unwrap_or_else(|| std::mem::take(&mut pack.tools));
            pack.prompt = file
                .prompt
                .unwrap_or_else(|| std::mem::take(&mut pack.prompt));
        }
    }
}

impl BuiltInAgent {
    fn to_pack(self) -> AgentPack {
        AgentPack {
            name: self.name.to_owned(),
            about: self.about.to_owned(),
            tools: self.tools.iter().map(|&tool| tool.to_owned()).collect(),
            prompt: self.prompt.to_owned(),
        }
    }
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

/// The first is the default. If keywords of several match, [`PRECEDENCE`] decides.
const PACKS: [BuiltInAgent; 5] = [
    BuiltInAgent {
        name: "chat.quick",
        about: "A short answer, without tools.",
        tools: &[],
        prompt: "Answer briefly and directly.",
        keywords: &[],
    },
    BuiltInAgent {
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
    BuiltInAgent {
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
    BuiltInAgent {
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
    BuiltInAgent {
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

/// Returns the place of the agent for a message.
fn route(message: &str) -> (usize, RouteReason) {
    let text: String = message
        .chars()
        .take(ROUTED_CHARS_MAX)
        .flat_map(char::to_lowercase)
        .collect();
    // Specific agents come first: words such as `file` or `time` occur in most requests.
    for place in PRECEDENCE {
        let pack = &PACKS[place];
        if let Some(word) = pack.keywords.iter().find(|word| has_keyword(&text, word)) {
            return (place, RouteReason::Keyword(word));
        }
    }
    (0, RouteReason::NoKeyword)
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
