//! The text that names a model to fetch. Pure.
//!
//! Invariant: a parsed name has no `..`, no empty part and no character that means something in a
//! path or a URL.

use super::catalog::{self, CatalogModel, MODELS};
use super::error::PullError;
use std::fmt;

/// The longest part of a repository's name.
const PART_BYTES_MAX: usize = 96;
const OLLAMA_BYTES_MAX: usize = 200;

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelSource {
    Catalog(&'static CatalogModel),
    Hub(HubSource),
    /// A model that a running Ollama fetches.
    Ollama(String),
}

/// A GGUF file of a repository on the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubSource {
    /// `OWNER/REPO`.
    pub repository: String,
    /// A quantization such as `Q4_K_M`, or the name of a file. Without it the usual one is chosen.
    pub wanted: Option<String>,
}

impl ModelSource {
    pub fn parse(text: &str) -> Result<ModelSource, PullError> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("hf:") {
            return Ok(ModelSource::Hub(parse_hub(rest)?));
        }
        if let Some(name) = text.strip_prefix("ollama:") {
            return Ok(ModelSource::Ollama(parse_ollama(name)?));
        }
        if let Some(model) = catalog::find(text) {
            return Ok(ModelSource::Catalog(model));
        }
        let shown: String = text.chars().take(PART_BYTES_MAX).collect();
        let hint = if text.contains('/') {
            format!(" For a repository on the hub write hf:{shown}.")
        } else {
            String::new()
        };
        let names: Vec<_> = MODELS.iter().map(|model| model.name).collect();
        Err(PullError::Source(format!(
            "'{shown}' is not in the catalogue ({}).{hint} Give one of these names, hf:OWNER/REPO[:QUANT] or ollama:NAME.",
            names.join(", ")
        )))
    }
}

impl fmt::Display for ModelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelSource::Catalog(model) => f.write_str(model.name),
            ModelSource::Hub(hub) => {
                write!(f, "hf:{}", hub.repository)?;
                hub.wanted.iter().try_for_each(|it| write!(f, ":{it}"))
            }
            ModelSource::Ollama(name) => write!(f, "ollama:{name}"),
        }
    }
}

fn parse_hub(text: &str) -> Result<HubSource, PullError> {
    let (repository, wanted) = match text.split_once(':') {
        Some((repository, wanted)) => (repository, Some(wanted)),
        None => (text, None),
    };
    let mut parts = repository.split('/');
    let parts = (parts.next(), parts.next(), parts.next());
    let is_repository =
        matches!(parts, (Some(owner), Some(name), None) if is_part(owner) && is_part(name));
    if !is_repository || !wanted.is_none_or(is_part) {
        return Err(PullError::Source(
            "A repository on the hub is written hf:OWNER/REPO or hf:OWNER/REPO:QUANT, such as hf:Qwen/Qwen3-8B-GGUF:Q4_K_M.".to_owned(),
        ));
    }
    Ok(HubSource {
        repository: repository.to_owned(),
        wanted: wanted.map(str::to_owned),
    })
}

fn parse_ollama(name: &str) -> Result<String, PullError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:/".contains(&byte);
    let is_name = (1..=OLLAMA_BYTES_MAX).contains(&name.len())
        && name.bytes().all(plain)
        && !name.contains("..")
        && name.as_bytes()[0].is_ascii_alphanumeric();
    if is_name {
        return Ok(name.to_owned());
    }
    Err(PullError::Source(
        "A model of Ollama is written ollama:NAME or ollama:NAME:TAG, such as ollama:qwen3:4b."
            .to_owned(),
    ))
}

/// Returns true for a plain word: of a repository, a quantization, a file, or a model's name.
pub(crate) fn is_part(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+".contains(&byte);
    (1..=PART_BYTES_MAX).contains(&text.len())
        && text.bytes().all(plain)
        // No dot file, no `..`, and nothing that a program would take for an option.
        && text.as_bytes()[0].is_ascii_alphanumeric()
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
