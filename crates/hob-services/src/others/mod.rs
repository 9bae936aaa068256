//! Services that a person may have beside those hob brings: found where they are, never installed.
//!
//! - [`piper`], [`kokoro`]: better voices; [`vlm`]: a model that sees; [`mlx`]: models on Apple's
//!   processors
//!
//! Invariant: each says what is missing and how to get it. They are described from their documents;
//! the README says that they have not been run by us.

pub mod kokoro;
pub mod mlx;
pub mod piper;
pub mod vlm;

use crate::found::Place;
use std::path::PathBuf;

/// A file that a setting names by its whole path, or why it is not there.
fn named_file(place: &Place<'_>, key: &str, what: &str) -> Result<PathBuf, String> {
    let named = place.settings.text(key).trim();
    if named.is_empty() {
        return Err(format!(
            "Name {what}: hob config set {key} /whole/path/of/the/file."
        ));
    }
    let home = place.env.os("HOME").map(PathBuf::from);
    let file = match (named.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(named),
    };
    if !file.is_absolute() || !file.is_file() {
        return Err(format!(
            "The setting {key} names '{}', and there is no such file.",
            file.display()
        ));
    }
    Ok(file)
}

#[cfg(test)]
#[path = "others_tests.rs"]
mod tests;
