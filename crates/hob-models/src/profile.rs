//! Request defaults of models that need special treatment, as data.

/// Request defaults of one model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelProfile {
    /// The system text, unless the caller gives one.
    pub system: &'static str,
    /// The sampling temperature, unless the caller gives one.
    pub temperature: f64,
    /// True if tools are offered to the model.
    pub tools: bool,
    /// The tokens of history that are sent.
    pub history_tokens: u64,
    /// The default limit of an answer, in tokens.
    pub output_tokens: u32,
}

/// The profile of a model of a hundred million parameters. Such a model mistakes extra
/// instructions for the question, calls tools at random, and may repeat itself without end.
pub(crate) const MODEST: ModelProfile = ModelProfile {
    system: "You are a helpful assistant.",
    temperature: 0.0,
    tools: false,
    history_tokens: 2_048,
    output_tokens: 1_024,
};
