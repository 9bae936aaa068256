//! A request as a script sees it: the same words whatever the dialect it came in.

use hob_wire::content::Role;
use serde_json::Value;

/// Whose HTTP is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// `POST /v1/chat/completions`, as OpenAI and everyone compatible.
    OpenaiChat,
    /// `POST /v1/responses`.
    OpenaiResponses,
    /// `POST /v1/messages`.
    Anthropic,
    /// `POST /v1beta/models/M:streamGenerateContent` and `:generateContent`.
    Gemini,
}

impl Dialect {
    /// All of them, for tests that go through each.
    pub const ALL: [Dialect; 4] = [
        Dialect::OpenaiChat,
        Dialect::OpenaiResponses,
        Dialect::Anthropic,
        Dialect::Gemini,
    ];
}

/// Whose chat completions are spoken: one dialect, each provider with its ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Flavour {
    #[default]
    Openai,
    OpenRouter,
    Groq,
    DeepSeek,
    Mistral,
    Xai,
    Ollama,
    LmStudio,
}

impl Flavour {
    /// All of them, for tests that go through each.
    pub const ALL: [Flavour; 8] = [
        Flavour::Openai,
        Flavour::OpenRouter,
        Flavour::Groq,
        Flavour::DeepSeek,
        Flavour::Mistral,
        Flavour::Xai,
        Flavour::Ollama,
        Flavour::LmStudio,
    ];

    /// What its paths begin with.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Flavour::Openai => "",
            Flavour::OpenRouter => "/openrouter",
            Flavour::Groq => "/groq",
            Flavour::DeepSeek => "/deepseek",
            Flavour::Mistral => "/mistral",
            Flavour::Xai => "/xai",
            Flavour::Ollama => "/ollama",
            Flavour::LmStudio => "/lmstudio",
        }
    }
}

/// A dialect in a flavour: whose words an error is said in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Voice {
    pub(crate) dialect: Dialect,
    pub(crate) flavour: Flavour,
}

impl From<Dialect> for Voice {
    fn from(dialect: Dialect) -> Voice {
        Voice {
            dialect,
            flavour: Flavour::Openai,
        }
    }
}

/// One request that was found valid.
#[derive(Clone, Debug)]
pub struct Asked {
    pub dialect: Dialect,
    /// Of chat completions; elsewhere the first.
    pub flavour: Flavour,
    pub model: String,
    /// All system text, wherever the dialect keeps it, joined by blank lines.
    pub system: String,
    pub messages: Vec<Said>,
    /// The names of the tools offered.
    pub tools: Vec<String>,
    pub stream: bool,
    /// Whether a stream is wanted to end with what was used; only one dialect lets a client choose.
    pub wants_usage: bool,
    /// The JSON schema the answer has to follow.
    pub schema: Option<Value>,
    /// Names in lower case, in the order they came.
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

/// One message of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// [`Role::Tool`] when it holds nothing but results, also where the dialect calls it the user's.
    pub role: Role,
    pub text: String,
    pub thinking: String,
    pub tool_calls: Vec<Called>,
    pub tool_results: Vec<Resulted>,
    /// The media type of each picture.
    pub images: Vec<String>,
}

/// A call the model is said to have made.
#[derive(Clone, Debug, PartialEq)]
pub struct Called {
    /// Empty where the dialect has none.
    pub id: String,
    pub name: String,
    pub args: Value,
}

/// What a tool is said to have answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Resulted {
    /// The call's id; its name where the dialect has no ids.
    pub id: String,
    pub text: String,
    pub is_error: bool,
}

impl Asked {
    /// Every tool result of the conversation, oldest first.
    pub fn results(&self) -> Vec<&Resulted> {
        let messages = self.messages.iter();
        messages.flat_map(|said| &said.tool_results).collect()
    }

    /// The tool results since the user last said something: how far the present task has come.
    pub fn results_of_task(&self) -> Vec<&Resulted> {
        let begin = self.messages.iter().rposition(is_users);
        let messages = self.messages.iter().skip(begin.unwrap_or(0));
        messages.flat_map(|said| &said.tool_results).collect()
    }

    /// What the user said last.
    pub fn last_user(&self) -> &str {
        let said = self.messages.iter().rev().find(|said| is_users(said));
        said.map_or("", |said| said.text.as_str())
    }

    /// The value of a header; the name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

fn is_users(said: &Said) -> bool {
    said.role == Role::User && (!said.text.is_empty() || !said.images.is_empty())
}

impl Said {
    pub(crate) fn by(role: Role) -> Said {
        Said {
            role,
            text: String::new(),
            thinking: String::new(),
            tool_calls: Vec::new(),
            tool_results: Vec::new(),
            images: Vec::new(),
        }
    }

    /// A user's message that holds only results is the tools'; pictures beside them are theirs too.
    pub(crate) fn settled(mut self) -> Said {
        if self.text.is_empty() && !self.tool_results.is_empty() {
            self.role = Role::Tool;
        }
        self
    }
}
