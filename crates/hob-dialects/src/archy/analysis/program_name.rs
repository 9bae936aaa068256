//! Finds the program whose output a command line prints.

/// Wrapper programs, with their options that take a value.
const WRAPPERS: &[(&str, &[&str])] = &[
    ("sudo", &["-u", "-g", "-h", "-p", "-C", "-D"]),
    ("doas", &["-u", "-C"]),
    ("env", &["-u", "-C", "-S"]),
    ("nice", &["-n"]),
    ("ionice", &["-c", "-n"]),
    ("timeout", &["-k", "-s"]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("time", &["-f", "-o"]),
    ("nohup", &[]),
    ("command", &[]),
    ("exec", &[]),
    ("watch", &["-n", "-d"]),
];

/// Programs that pass on lines of their input.
const FILTERS: &[&str] = &[
    "grep", "egrep", "head", "tail", "sort", "uniq", "cat", "tee", "less", "more",
];

/// Returns the program whose output format a command line prints: the last one that is not a
/// filter.
pub(crate) fn printing_program(line: &str) -> Option<&str> {
    let commands = commands(line);
    let last = commands
        .rsplit(|command| command.first() == Some(&";"))
        .find(|part| !part.is_empty())?;
    let programs: Vec<&str> = last.iter().filter_map(|words| program_of(words)).collect();
    let own = programs
        .iter()
        .rev()
        .find(|program| !FILTERS.contains(program));
    // A line of filters only, such as `cat file | grep x`, is named by its first.
    own.or(programs.first()).copied()
}

/// Splits a line into commands of words; a command of the single word `;` separates commands that
/// are not piped into each other.
fn commands(line: &str) -> Vec<Vec<&str>> {
    let mut commands = vec![Vec::new()];
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        let Some(next) = rest.chars().next() else {
            break;
        };
        if matches!(next, ';' | '&' | '|' | '\n') {
            let end = rest
                .find(|c| !matches!(c, ';' | '&' | '|' | '\n' | ' '))
                .unwrap_or(rest.len());
            // Only a pipe feeds one command into the next.
            if rest[..end].trim() != "|" && rest[..end].trim() != "|&" {
                commands.push(vec![";"]);
            }
            commands.push(Vec::new());
            rest = &rest[end..];
            continue;
        }
        let end = word_end(rest);
        if let Some(words) = commands.last_mut() {
            words.push(&rest[..end]);
        }
        rest = &rest[end..];
    }
    commands.retain(|words| !words.is_empty());
    commands
}

/// Returns the end of a word; quotes keep it together.
fn word_end(text: &str) -> usize {
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in text.char_indices() {
        match quote {
            _ if escaped => escaped = false,
            Some('\'') if c != '\'' => {}
            _ if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None if matches!(c, ' ' | '\t' | ';' | '&' | '|' | '\n') => return at,
            _ => {}
        }
    }
    text.len()
}

/// Returns the program of a command, after assignments and wrappers.
fn program_of<'a>(words: &[&'a str]) -> Option<&'a str> {
    let mut words = words.iter().copied().peekable();
    loop {
        let word = words.next()?;
        if word.starts_with(['-', '(', '{']) || is_assignment(word) {
            continue;
        }
        let name = word.rsplit('/').next()?.trim_matches(['"', '\'']);
        let Some((_, valued)) = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name) else {
            return Some(name);
        };
        while let Some(option) = words.next_if(|word| word.starts_with('-') || is_duration(word)) {
            if valued.contains(&option) {
                words.next();
            }
        }
    }
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Returns true for the duration that `timeout` takes before its command.
fn is_duration(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
        && word
            .trim_end_matches(['s', 'm', 'h', 'd'])
            .chars()
            .all(|c| c.is_ascii_digit() || c == '.')
}

#[cfg(test)]
#[path = "program_name_tests.rs"]
mod tests;
