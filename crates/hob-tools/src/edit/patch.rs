//! Applying a unified diff to a text. A hunk must fit exactly; where its lines say, or at the one
//! place where it does fit, because models count lines badly.

/// The text after every hunk and how many there were, or why they do not fit.
pub(super) fn apply(text: &str, patch: &str) -> Result<(String, usize), String> {
    let hunks = hunks(patch)?;
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut shift = 0_isize;
    for (number, hunk) in hunks.iter().enumerate() {
        let wanted = hunk.first.saturating_add_signed(shift);
        let at = find(&lines, &hunk.old, wanted)
            .map_err(|reason| format!("Hunk {} of the patch {reason}", number + 1))?;
        lines.splice(at..at + hunk.old.len(), hunk.new.iter().copied());
        let grown = |count: usize| isize::try_from(count).unwrap_or(isize::MAX);
        shift += grown(hunk.new.len()) - grown(hunk.old.len());
    }
    Ok((lines.concat(), hunks.len()))
}

/// Lines that go and lines that come.
#[derive(Debug, Default)]
struct Hunk<'p> {
    /// Where it begins, counted from 0.
    first: usize,
    old: Vec<&'p str>,
    new: Vec<&'p str>,
}

fn hunks(patch: &str) -> Result<Vec<Hunk<'_>>, String> {
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    let mut files = 0;
    let mut before = ' ';
    for line in patch.split_inclusive('\n') {
        if let Some(head) = line.strip_prefix("@@") {
            let first = first_line(head)
                .ok_or("The patch has a hunk whose head is not of the form '@@ -1,2 +1,2 @@'.")?;
            hunks.push(Hunk {
                first,
                ..Hunk::default()
            });
            continue;
        }
        let Some(hunk) = hunks.last_mut() else {
            // What comes before the first hunk names files, which `path` does already.
            files += usize::from(line.starts_with("+++ "));
            continue;
        };
        let last = std::mem::replace(&mut before, line.chars().next().unwrap_or(' '));
        match line.split_at_checked(1) {
            Some(("-", rest)) => hunk.old.push(rest),
            Some(("+", rest)) => hunk.new.push(rest),
            Some((" ", rest)) => {
                hunk.old.push(rest);
                hunk.new.push(rest);
            }
            Some(("\\", _)) => unend(hunk, last),
            // An empty line of context that lost its space.
            _ if line.trim_end_matches(['\r', '\n']).is_empty() => {
                hunk.old.push(line);
                hunk.new.push(line);
            }
            _ => {
                return Err(
                    "A line of the patch begins with none of ' ', '+', '-' and '@@'.".to_owned(),
                );
            }
        }
    }
    if hunks.is_empty() {
        return Err("The patch has no hunk: none of its lines begins with '@@'.".to_owned());
    }
    if files > 1 {
        return Err("The patch is of several files; give one for each.".to_owned());
    }
    Ok(hunks)
}

/// `\ No newline at end of file` is about the line before it, on whichever side it stands.
fn unend(hunk: &mut Hunk<'_>, last: char) {
    let cut = |side: &mut Vec<&str>| {
        if let Some(line) = side.last_mut() {
            *line = line.strip_suffix('\n').unwrap_or(line);
        }
    };
    if last != '+' {
        cut(&mut hunk.old);
    }
    if last != '-' {
        cut(&mut hunk.new);
    }
}

/// The line that ` -12,3 +12,4 @@` begins at, counted from 0.
fn first_line(head: &str) -> Option<usize> {
    let old = head.trim_start().strip_prefix('-')?;
    let digits = old.split([',', ' ']).next()?;
    let line: usize = digits.parse().ok()?;
    Some(line.saturating_sub(1))
}

fn find(lines: &[&str], old: &[&str], wanted: usize) -> Result<usize, String> {
    if old.is_empty() {
        return Ok(wanted.min(lines.len()));
    }
    let fits = |at: usize| {
        let there = lines.get(at..at + old.len());
        there.is_some_and(|there| {
            let same = |(one, other): (&&str, &&str)| one == other;
            there.iter().zip(old).all(same)
        })
    };
    if fits(wanted) {
        return Ok(wanted);
    }
    let mut places = (0..lines.len()).filter(|at| fits(*at));
    match (places.next(), places.next()) {
        (Some(at), None) => Ok(at),
        (None, _) => Err("does not fit: its lines are not in the file as they stand. Read the file again.".to_owned()),
        _ => Err("fits at several places and its line numbers are wrong. Take more lines of context along.".to_owned()),
    }
}

#[cfg(test)]
#[path = "patch_tests.rs"]
mod tests;
