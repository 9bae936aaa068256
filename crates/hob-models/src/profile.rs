//! Request defaults of models that need special treatment, as data.

/// Request defaults of one model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelProfile {
    /// The system text, unless the caller gives one.
    pub system: &'static str,
    /// The sampling temperature, unless the caller gives one.
    pub temperature: f64,
    /// The penalty on tokens that came already, in the parameter of llama.cpp's server.
    pub repeat_penalty: f64,
    /// True if tools are offered to the model.
    pub tools: bool,
    /// The window, in tokens: what is shown to people and what is used. A longer conversation only
    /// confuses the model.
    pub context_tokens: u64,
    /// The limit of an answer, in tokens, whatever the caller asks for.
    pub output_tokens: u32,
}

/// The profile of a model of a hundred million parameters. Such a model mistakes extra
/// instructions for the question, calls tools at random, and may repeat itself without end.
pub(crate) const MODEST: ModelProfile = ModelProfile {
    system: "You are a helpful assistant.",
    temperature: 0.0,
    repeat_penalty: 1.1,
    tools: false,
    context_tokens: 2_048,
    output_tokens: 256,
};
