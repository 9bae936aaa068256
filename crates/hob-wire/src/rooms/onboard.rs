//! `onboard.*`: the choice of a first model. Faces show the options and send the choice.

use crate::method::{CliExposure, methods};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

methods! { "onboard";
    /// Lists the models that can be used or obtained on this machine, best first.
    Options = "onboard.options" {
        params: OnboardOptionsParams, result: OnboardOptionsResult, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Carries out a choice, or records that the person wants none.
    ///
    /// It keeps a key, sets the default model, or begins an installation. A pasted key is tried first, and kept only if its provider does not refuse it.
    Choose = "onboard.choose" {
        params: OnboardChooseParams, result: OnboardChooseResult, scope: Admin, effect: Keyed,
        cli: CliExposure::Hidden,
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OnboardOptionsParams {
    /// Returns no options, only the state. Looks for nothing, so it is quick.
    #[serde(default)]
    pub state_only: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OnboardOptionsResult {
    /// True while no model is configured and the person has not chosen: the first command that needs
    /// a model offers the choice.
    pub offer: bool,
    /// The model that is used without a choice, `provider/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// True if that is the demo model.
    #[serde(default)]
    pub demo: bool,
    /// The options, best first.
    #[serde(default)]
    pub options: Vec<OnboardOption>,
    /// Sentences about what was found and cannot be used.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A model to use, or a way to get one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OnboardOption {
    /// The id for `onboard.choose`.
    pub id: String,
    pub kind: OnboardKind,
    /// A line for a list.
    pub title: String,
    /// The models of it, the one that is taken first.
    #[serde(default)]
    pub models: Vec<String>,
    /// The providers whose key can be pasted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub providers: Vec<String>,
    /// True if it can use tools; missing if that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// The bytes to download.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub download_bytes: Option<u64>,
    /// The memory it needs, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnboardKind {
    /// A provider whose key is there.
    Key,
    /// A model server that runs on this machine.
    Server,
    /// A local model to download.
    Pull,
    /// A key to paste.
    Paste,
    /// The small model to check that hob works.
    Demo,
}

#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OnboardChooseParams {
    /// The id of an option; `none` for none of them, which is remembered.
    pub option: String,
    /// The provider of the pasted key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The pasted key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// A model of the option, if not its first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl std::fmt::Debug for OnboardChooseParams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the key.
        f.debug_struct("OnboardChooseParams")
            .field("option", &self.option)
            .field("provider", &self.provider)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OnboardChooseResult {
    pub outcome: OnboardOutcome,
    /// What happened, in a sentence.
    pub message: String,
    /// The model that is used from now on, if it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnboardOutcome {
    /// A model is ready.
    Ready,
    /// A model is being installed or downloaded; its events report the progress.
    Installing,
    /// The person wants none.
    Declined,
    /// Nothing was changed; `message` says why.
    Refused,
}
