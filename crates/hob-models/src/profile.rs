//! How a model is asked that is not like the others: as data.

/// What is different about asking it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// All it is told as system, unless the caller says something of their own.
    pub system: &'static str,
    /// How freely it chooses its words, unless the caller says so.
    pub temperature: f64,
    /// Whether it is offered tools.
    pub tools: bool,
    /// How much of a conversation it is shown, in tokens.
    pub history_tokens: u64,
    /// The longest answer it gives unless told otherwise, in tokens.
    pub output_tokens: u32,
}

/// A model of a hundred million parameters: what it is told beside the question it takes for the
/// question, tools it calls at random, and it may repeat itself without an end.
pub(crate) const MODEST: Profile = Profile {
    system: "You are a helpful assistant.",
    temperature: 0.0,
    tools: false,
    history_tokens: 2_048,
    output_tokens: 1_024,
};
