//! `token.*`: credentials. A token's text is shown once, when it is made; only its hash is kept.

use crate::damage::DamagedRow;
use crate::method::{Cli, methods};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

methods! { "tokens";
    /// Makes a token; its text is shown only now.
    Create = "token.create" {
        params: CreateParams, result: Created, scope: Admin, effect: Opaque,
        cli: Cli::Hidden,
    }
    /// Lists tokens without their texts.
    List = "token.list" {
        params: ListParams, result: Tokens, scope: Admin, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Ends a token and closes every connection that uses it.
    Revoke = "token.revoke" {
        params: RevokeParams, result: Revoked, scope: Admin, effect: Keyed,
        cli: Cli::Hidden,
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateParams {
    /// What it is for; unique among live tokens.
    pub name: String,
    /// `read`, `chat`, `control`, `admin`, `service:NAME`.
    pub scopes: Vec<String>,
    /// Life in milliseconds; for ever when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_ms: Option<u64>,
    /// Folders that a model may read for it, by their whole paths, with all below them. Only for a
    /// token without `control`; the setting `agent.workspaces` names folders for all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspaces: Vec<String>,
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Created {
    #[serde(flatten)]
    pub info: TokenInfo,
    /// The credential itself; it cannot be shown again.
    pub token: String,
}

impl std::fmt::Debug for Created {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Created")
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
    /// Folders that a model may read for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspaces: Vec<String>,
    /// What changed for it since it was made, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl TokenInfo {
    /// What a person should know of a token that a former version made with these scopes, joined
    /// by commas.
    pub fn note_of_former_version(scopes: &str) -> Option<&'static str> {
        scopes.split(',').any(|scope| scope == "control").then_some(
            "`control` no longer includes the shared terminal (terminal.*) and starting applications (desktop.launch): those need `admin`",
        )
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListParams {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    pub tokens: Vec<TokenInfo>,
    /// Damaged tokens, which are left out above and open nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedRow>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RevokeParams {
    /// The token's id or name.
    pub token: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Revoked {
    pub id: String,
    pub name: String,
}
