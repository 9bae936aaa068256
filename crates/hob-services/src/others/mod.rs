//! Further services that a user may have: found on the machine, never installed by hob.
//!
//! - [`piper`], [`kokoro`]: better voices; [`vlm`]: a vision model; [`mlx`]: models on Apple
//!   processors
//!
//! Invariant: each one reports what is missing and how to get it. They follow the documentation of
//! their projects; the README says that we have not run them.

pub mod kokoro;
pub mod mlx;
pub mod piper;
pub mod vlm;

use crate::discovery::DiscoveryContext;
use std::path::PathBuf;

/// Returns the file of a setting, or the reason why there is none.
fn named_file(context: &DiscoveryContext<'_>, key: &str, what: &str) -> Result<PathBuf, String> {
    let named = context.settings.text(key).trim();
    if named.is_empty() {
        return Err(format!(
            "Name {what}: hob config set {key} /whole/path/of/the/file."
        ));
    }
    // No shell expands a setting, so `~/` is handled here.
    let home = context.env.os("HOME").map(PathBuf::from);
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
