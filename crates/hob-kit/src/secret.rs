//! A text that must not be shown. Invariant: it has no `Display` and no `Serialize`, its `Debug`
//! reveals nothing, and the text is available only by [`Secret::expose`].

use std::fmt;
use std::sync::Arc;

/// A password, key or token; cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    pub fn new(text: impl Into<Arc<str>>) -> Secret {
        Secret(text.into())
    }

    /// Returns the text, for the one place that must send it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
#[path = "secret_tests.rs"]
mod tests;
