//! Parses an agent's file of a workspace: Markdown with an optional header between two lines `---`.
//! Pure.
//!
//! Invariants: a file can only name tools, never grant them; every part is bounded; unknown keys are
//! ignored, as in AgentLoop itself.

/// Most letters of an agent's name.
const NAME_CHARS_MAX: usize = 64;
/// Most letters of its description.
const ABOUT_CHARS_MAX: usize = 200;
/// Most tools that a file may name.
const TOOLS_MAX: usize = 64;
/// The line around the header.
const FENCE: &str = "---";

/// An agent as a file describes it. What is missing stays as it is built in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PackFile {
    pub(crate) name: String,
    pub(crate) about: Option<String>,
    /// An empty list takes all tools away.
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) prompt: Option<String>,
}

/// Parses a file. `stem` is its name without `.md`. `None` if it is empty or its name cannot be
/// used.
pub(crate) fn parse(text: &str, stem: &str) -> Option<PackFile> {
    let is_blank = |letter: char| letter.is_whitespace() || letter == '\u{feff}';
    let text = text.trim_start_matches(is_blank);
    if text.is_empty() {
        return None;
    }
    let (header, prompt) = split_header(text);
    let mut file = PackFile::default();
    let mut in_tools = false;
    for line in header.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if in_tools && let Some(tool) = line.strip_prefix('-') {
            file.tools.get_or_insert_default().extend(unquoted(tool));
            continue;
        }
        in_tools = false;
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        match key.trim() {
            "name" => file.name = unquoted(value).unwrap_or_default(),
            "description" => file.about = unquoted(value),
            "tools" => {
                in_tools = true;
                let list = value.trim().trim_start_matches('[').trim_end_matches(']');
                file.tools = Some(list.split(',').filter_map(unquoted).collect());
            }
            _ => {}
        }
    }
    if file.name.is_empty() {
        stem.clone_into(&mut file.name);
    }
    file.about = file
        .about
        .map(|about| about.chars().take(ABOUT_CHARS_MAX).collect());
    if let Some(tools) = &mut file.tools {
        tools.truncate(TOOLS_MAX);
    }
    let prompt = prompt.trim();
    file.prompt = (!prompt.is_empty()).then(|| prompt.to_owned());
    is_name(&file.name).then_some(file)
}

/// Splits a text into its header and the rest. A header that does not end is no header.
fn split_header(text: &str) -> (&str, &str) {
    let Some(after) = text.strip_prefix(FENCE) else {
        return ("", text);
    };
    if !after.starts_with(['\n', '\r']) {
        return ("", text);
    }
    let mut from = 0;
    for line in after.split_inclusive('\n') {
        let next = from + line.len();
        if line.trim_end() == FENCE {
            return (&after[..from], &after[next..]);
        }
        from = next;
    }
    ("", text)
}

/// The value without blanks and quotes around it; `None` if nothing is left.
fn unquoted(value: &str) -> Option<String> {
    let value = value.trim().trim_matches(['"', '\'']).trim();
    (!value.is_empty()).then(|| value.to_owned())
}

fn is_name(name: &str) -> bool {
    let is_allowed = |letter: char| letter.is_alphanumeric() || ".-_ ".contains(letter);
    name.chars().count() <= NAME_CHARS_MAX && !name.is_empty() && name.chars().all(is_allowed)
}

#[cfg(test)]
#[path = "pack_file_tests.rs"]
mod tests;
