//! A request as a script sees it, independent of the dialect.

use hob_wire::content::Role;
use serde_json::Value;

/// The provider protocol.
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

/// The provider whose variant of chat completions is spoken.
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

    /// The path prefix.
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

/// The dialect and flavour of an error body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DialectFlavour {
    pub(crate) dialect: Dialect,
    pub(crate) flavour: Flavour,
}

impl From<Dialect> for DialectFlavour {
    fn from(dialect: Dialect) -> DialectFlavour {
        DialectFlavour {
            dialect,
            flavour: Flavour::Openai,
        }
    }
}

/// A valid request.
#[derive(Clone, Debug)]
pub struct SimRequest {
    pub dialect: Dialect,
    /// The flavour of chat completions; the default for other dialects.
    pub flavour: Flavour,
    pub model: String,
    /// All system text, wherever the dialect keeps it, joined by blank lines.
    pub system: String,
    pub messages: Vec<SimMessage>,
    /// The names of the tools offered.
    pub tools: Vec<String>,
    pub stream: bool,
    /// True if the stream should end with usage. Only chat completions let the client choose.
    pub wants_usage: bool,
    /// The JSON schema of the answer.
    pub schema: Option<Value>,
    /// Names in lower case, in the order they came.
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

/// One message of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct SimMessage {
    /// [`Role::Tool`] when it holds nothing but results, also where the dialect calls it the user's.
    pub role: Role,
    pub text: String,
    pub thinking: String,
    pub tool_calls: Vec<SimToolCall>,
    pub tool_results: Vec<SimToolResult>,
    /// The media type of each picture.
    pub images: Vec<String>,
}

/// A tool call in the history.
#[derive(Clone, Debug, PartialEq)]
pub struct SimToolCall {
    /// Empty where the dialect has none.
    pub id: String,
    pub name: String,
    pub args: Value,
}

/// A tool result in the history.
#[derive(Clone, Debug, PartialEq)]
pub struct SimToolResult {
    /// The call's id; its name where the dialect has no ids.
    pub id: String,
    pub text: String,
    pub is_error: bool,
}

impl SimRequest {
    /// All tool results of the conversation, oldest first.
    pub fn results(&self) -> Vec<&SimToolResult> {
        let messages = self.messages.iter();
        messages.flat_map(|said| &said.tool_results).collect()
    }

    /// The tool results since the last user message.
    pub fn results_of_task(&self) -> Vec<&SimToolResult> {
        let begin = self.messages.iter().rposition(is_users);
        let messages = self.messages.iter().skip(begin.unwrap_or(0));
        messages.flat_map(|said| &said.tool_results).collect()
    }

    /// The text of the last user message.
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

fn is_users(said: &SimMessage) -> bool {
    said.role == Role::User && (!said.text.is_empty() || !said.images.is_empty())
}

impl SimMessage {
    pub(crate) fn by(role: Role) -> SimMessage {
        SimMessage {
            role,
            text: String::new(),
            thinking: String::new(),
            tool_calls: Vec::new(),
            tool_results: Vec::new(),
            images: Vec::new(),
        }
    }

    /// Sets the role to `Tool` if a user message holds only results; pictures beside them belong to
    /// the results.
    pub(crate) fn settled(mut self) -> SimMessage {
        if self.text.is_empty() && !self.tool_results.is_empty() {
            self.role = Role::Tool;
        }
        self
    }
}
