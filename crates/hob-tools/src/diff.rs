//! Bounded unified diffs, as previews of changes.

use similar::TextDiff;
use std::time::Duration;

/// Bytes of either side that are compared; a larger change shows only its sizes.
const COMPARED_BYTES_MAX: usize = 1024 * 1024;
/// The time limit of a comparison; after it the diff is coarser.
const COMPARE_TIME: Duration = Duration::from_millis(500);
/// Context lines around a change.
const CONTEXT_LINES: usize = 3;

/// The change of the file `path` from `before` to `after`.
pub(crate) fn unified(path: &str, before: Option<&[u8]>, after: &[u8]) -> String {
    let old = before.unwrap_or_default();
    let size = |bytes: &[u8]| format!("{} bytes", bytes.len());
    let was = before.map_or_else(|| "nothing".to_owned(), size);
    let summary = format!("{path}: {was} → {}", size(after));
    let texts = (std::str::from_utf8(old), std::str::from_utf8(after));
    let (Ok(old), Ok(new)) = texts else {
        return format!("{summary} (not text)");
    };
    if old.len().max(new.len()) > COMPARED_BYTES_MAX {
        return format!("{summary} (too large to compare)");
    }
    if before.is_some() && old == new {
        return format!("{summary} (unchanged)");
    }
    let diff = TextDiff::configure()
        .timeout(COMPARE_TIME)
        .diff_lines(old, new);
    let from = if before.is_some() { path } else { "/dev/null" };
    let mut unified = diff.unified_diff();
    let unified = unified.context_radius(CONTEXT_LINES).header(from, path);
    format!("{summary}\n{unified}")
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
