//! The folder a terminal's text ends in, as its prompt shows it. Only for clients that ask a text:
//! a terminal of hob's knows its folder from the shell itself.

/// The folder of the last prompt in a text: absolute, below `~`, or the bare name some prompts show.
pub fn folder_of(text: &str) -> Option<&str> {
    text.lines()
        .rev()
        .filter(|line| !line.trim().is_empty())
        .find_map(prompt)
}

fn prompt(line: &str) -> Option<&str> {
    let line = line.trim();
    bracketed(line)
        .or_else(|| with_host(line))
        .or_else(|| arrowed(line))
        .or_else(|| bare(line))
}

/// `[user@host folder]$`
fn bracketed(line: &str) -> Option<&str> {
    let (inside, behind) = line.strip_prefix('[')?.split_once(']')?;
    let (who, folder) = inside.split_once(' ')?;
    (who.contains('@') && behind.starts_with(['$', '#', '%'])).then_some(folder.trim())
}

/// `user@host:folder$`
fn with_host(line: &str) -> Option<&str> {
    let (who, rest) = line.split_once(':')?;
    let end = rest.find(['$', '#', '%'])?;
    let named = who.contains('@') && !who.contains(' ');
    let folder = rest[..end].trim();
    (named && is_path(folder)).then_some(folder)
}

/// `➜  folder` and what a theme puts behind it.
fn arrowed(line: &str) -> Option<&str> {
    line.strip_prefix('➜')?.split_whitespace().next()
}

/// `~/folder $`, `/folder ❯`
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
#[path = "folder_tests.rs"]
mod tests;
