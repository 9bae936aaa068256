//! Finds the folder in the last prompt of a terminal's text. Only for clients that send a text:
//! hob's own terminals get their folder from the shell.

/// Returns the folder of the last prompt in a text: absolute, below `~`, or a bare name as some
/// prompts show it.
pub fn folder_of(text: &str) -> Option<&str> {
    text.lines()
        .rev()
        .filter(|line| !line.trim().is_empty())
        .find_map(folder_in_prompt)
}

fn folder_in_prompt(line: &str) -> Option<&str> {
    let line = line.trim();
    bracketed(line)
        .or_else(|| user_at_host(line))
        .or_else(|| arrow(line))
        .or_else(|| bare(line))
}

/// Matches `[user@host folder]$`.
fn bracketed(line: &str) -> Option<&str> {
    let (inside, behind) = line.strip_prefix('[')?.split_once(']')?;
    let (who, folder) = inside.split_once(' ')?;
    (who.contains('@') && behind.starts_with(['$', '#', '%'])).then_some(folder.trim())
}

/// Matches `user@host:folder$`.
fn user_at_host(line: &str) -> Option<&str> {
    let (who, rest) = line.split_once(':')?;
    let end = rest.find(['$', '#', '%'])?;
    let named = who.contains('@') && !who.contains(' ');
    let folder = rest[..end].trim();
    (named && is_path(folder)).then_some(folder)
}

/// Matches `➜  folder` with whatever a theme adds.
fn arrow(line: &str) -> Option<&str> {
    line.strip_prefix('➜')?.split_whitespace().next()
}

/// Matches `~/folder $` and `/folder ❯`.
fn bare(line: &str) -> Option<&str> {
    let end = line
        .find([' ', '$', '#', '%', '❯', '>'])
        .unwrap_or(line.len());
    let (folder, behind) = line.split_at(end);
    let ends = behind.trim_start().starts_with(['$', '#', '%', '❯', '>']);
    (is_path(folder) && ends).then_some(folder)
}

fn is_path(text: &str) -> bool {
    text.starts_with('/') || text == "~" || text.starts_with("~/")
}

#[cfg(test)]
#[path = "prompt_folder_tests.rs"]
mod tests;
