//! What every reader says about things that hob has no place for.

use crate::import_builder::{PERSONA_BYTES_MAX, PlanBuilder};
use crate::import_folder::{SourceEntryKind, SourceFileError, SourceFolder};

pub(crate) const NO_MEMORY: &str = "hob has no memory for notes yet; the text stays where it is";
pub(crate) const NO_SKILLS: &str = "hob has no skills yet";
pub(crate) const NO_CHANNELS: &str = "hob has no channels yet";
pub(crate) const NO_MCP: &str = "hob is no MCP client yet";
pub(crate) const AGENTS_FILE: &str =
    "hob reads AGENTS.md of the folder in which it works; start it there, or copy the file";

/// Takes a file with the character of the assistant as hob's persona.
pub(crate) fn read_persona(folder: &SourceFolder, name: &str, builder: &mut PlanBuilder) {
    match folder.find_text(name, PERSONA_BYTES_MAX) {
        Ok(Some(text)) => builder.set_persona(name, text),
        Ok(None) => {}
        Err(error) => builder.skip(name, error.reason()),
    }
}

/// Reads a file of settings; one that cannot be read is told.
pub(crate) fn read_settings_file(
    folder: &SourceFolder,
    name: &str,
    bytes_max: u64,
    builder: &mut PlanBuilder,
) -> Option<String> {
    match folder.find_text(name, bytes_max) {
        Ok(text) => text,
        Err(error) => {
            builder.skip(name, error.reason());
            None
        }
    }
}

/// The place of a damage. The parser's own words could repeat a secret.
pub(crate) fn damage(error: &serde_json::Error) -> String {
    format!(
        "it is damaged at line {}, column {}",
        error.line(),
        error.column()
    )
}

/// Tells each entry of the folder that is there and has no place in hob.
pub(crate) fn skip_present(
    folder: &SourceFolder,
    entries: &[(&str, &str)],
    builder: &mut PlanBuilder,
) {
    for (name, reason) in entries {
        if folder.has(name) {
            builder.skip(*name, *reason);
        }
    }
}

/// Tells each entry of the folder that the reader does not know.
pub(crate) fn skip_unknown(folder: &SourceFolder, known: &[&str], builder: &mut PlanBuilder) {
    let listing = match folder.list("") {
        Ok(listing) => listing,
        Err(error) => return builder.skip("the folder", error.reason()),
    };
    for entry in listing.entries {
        if known.contains(&entry.name.as_str()) {
            continue;
        }
        let reason = match entry.kind {
            SourceEntryKind::Link => SourceFileError::Link.reason(),
            _ => "hob does not know what it is".to_owned(),
        };
        builder.skip(entry.name, reason);
    }
    if listing.is_cut {
        builder.skip(
            "more entries of the folder",
            "there are too many to look at",
        );
    }
}
