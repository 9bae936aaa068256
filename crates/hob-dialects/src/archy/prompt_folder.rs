//! Finds the folder in a shell's prompt, in a text that a client captured. For its own sessions hob
//! knows the folder from the shell.

/// Number of last lines that are searched for a prompt.
const LINES: usize = 5;

/// Returns the folder of the last prompt: `user@host:FOLDER$`, `[user@host FOLDER]$` or `… FOLDER
/// $`.
pub(crate) fn prompt_folder(text: &str) -> Option<String> {
    let lines = text.trim_end().lines().rev().take(LINES);
    let found = lines.map(str::trim_end).find_map(folder_in_line);
    found.map(str::to_owned)
}

fn folder_in_line(line: &str) -> Option<&str> {
    after_colon(line)
        .or_else(|| in_brackets(line))
        .or_else(|| before_sign(line))
        .filter(|folder| !folder.is_empty())
}

/// `user@host:FOLDER$ what is typed`
fn after_colon(line: &str) -> Option<&str> {
    let (who, rest) = line.split_once(':')?;
    let is_prompt = who.contains('@') && !who.trim().contains(char::is_whitespace);
    let end = rest.find(['$', '#']).filter(|_| is_prompt)?;
    Some(rest[..end].trim())
}

/// `[user@host FOLDER]$ what is typed`
fn in_brackets(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once('[')?;
    let (inside, after) = rest.split_once(']')?;
    let (who, folder) = inside.split_once(' ')?;
    let is_prompt = who.contains('@') && after.trim_start().starts_with(['$', '#']);
    is_prompt.then(|| folder.trim())
}

/// `FOLDER $ what is typed`, if the folder begins with `/` or `~`.
fn before_sign(line: &str) -> Option<&str> {
    let sign = line.find(['$', '#', '❯', '>'])?;
    let folder = line[..sign].trim_end().rsplit(char::is_whitespace).next()?;
    folder.starts_with(['/', '~']).then_some(folder)
}

#[cfg(test)]
#[path = "prompt_folder_tests.rs"]
mod tests;
