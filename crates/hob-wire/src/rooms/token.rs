//! `token.*`: credentials. The text of a token is shown once, at creation. Only its hash is stored.

use crate::damage::DamagedRow;
use crate::method::{CliExposure, methods};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

methods! { "tokens";
    /// Creates a token. Its text is shown only once.
    Create = "token.create" {
        params: TokenCreateParams, result: TokenCreateResult, scope: Admin, effect: Opaque,
        cli: CliExposure::Hidden,
    }
    /// Lists the tokens without their texts.
    List = "token.list" {
        params: TokenListParams, result: TokenListResult, scope: Admin, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Revokes a token and closes all connections that use it.
    Revoke = "token.revoke" {
        params: TokenRevokeParams, result: TokenRevokeResult, scope: Admin, effect: Keyed,
        cli: CliExposure::Hidden,
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TokenCreateParams {
    /// A name that says what it is for; unique among valid tokens.
    pub name: String,
    /// `read`, `chat`, `control`, `admin`, `service:NAME`.
    pub scopes: Vec<String>,
    /// The lifetime in milliseconds; unlimited when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_ms: Option<u64>,
    /// Folders that a model may read for this token, as absolute paths, with their subfolders. Only
    /// for a token without `control`. The setting `agent.workspaces` adds folders for all tokens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspaces: Vec<String>,
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenCreateResult {
    #[serde(flatten)]
    pub info: TokenInfo,
    /// The credential. It cannot be shown again.
    pub token: String,
}

impl std::fmt::Debug for TokenCreateResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenCreateResult")
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenInfo {
    pub id: String,
    pub name: String,
    pub scopes: Vec<String>,
    pub created_at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<u64>,
    /// Folders that a model may read for this token.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspaces: Vec<String>,
    /// A note for people about changes since it was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl TokenInfo {
    /// Returns a note for people about a token that an earlier version created with these scopes,
    /// given as a comma-separated list.
    pub fn upgrade_note(scopes: &str) -> Option<&'static str> {
        scopes.split(',').any(|scope| scope == "control").then_some(
            "`control` no longer includes the shared terminal (terminal.*) and starting applications (desktop.launch): those need `admin`",
        )
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TokenListParams {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenListResult {
    pub tokens: Vec<TokenInfo>,
    /// Damaged tokens. They are not in `tokens` and are not accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedRow>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TokenRevokeParams {
    /// The token's id or name.
    pub token: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenRevokeResult {
    pub id: String,
    pub name: String,
}
