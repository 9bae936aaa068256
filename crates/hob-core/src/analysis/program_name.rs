//! Which program a command line's output comes from.

/// Programs that run another one, with the options of theirs that take a value.
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

/// Programs that hand on lines of what they are given.
const FILTERS: &[&str] = &[
    "grep", "egrep", "head", "tail", "sort", "uniq", "cat", "tee", "less", "more",
];

/// The program whose kind of output a command line prints: the last one that is no mere filter.
pub(super) fn program(line: &str) -> Option<&str> {
    let commands = commands(line);
    let last = commands
        .rsplit(|command| command.first() == Some(&";"))
        .find(|part| !part.is_empty())?;
    let programs: Vec<&str> = last.iter().filter_map(|words| first(words)).collect();
    let own = programs
        .iter()
        .rev()
        .find(|program| !FILTERS.contains(program));
    own.or(programs.first()).copied()
}

/// The words of each command of a line; a command of the one word `;` stands between commands that
/// do not feed one another.
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

/// Where a word ends; quotes hold it together.
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

/// The program of a command: behind assignments and programs that run another one.
fn first<'a>(words: &[&'a str]) -> Option<&'a str> {
    let mut words = words.iter().copied().peekable();
    loop {
        let word = words.next()?;
        if word.starts_with(['-', '(', '{']) || assigns(word) {
            continue;
        }
        let name = word.rsplit('/').next()?.trim_matches(['"', '\'']);
        let Some((_, valued)) = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name) else {
            return Some(name);
        };
        while let Some(option) = words.next_if(|word| word.starts_with('-') || is_time(word)) {
            if valued.contains(&option) {
                words.next();
            }
        }
    }
}

fn assigns(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// What `timeout` takes before its command.
fn is_time(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
        && word
            .trim_end_matches(['s', 'm', 'h', 'd'])
            .chars()
            .all(|c| c.is_ascii_digit() || c == '.')
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
