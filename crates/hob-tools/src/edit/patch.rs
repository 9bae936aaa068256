//! Applies a unified diff to a text. A hunk must match exactly, at its line number or at the only
//! other place that matches, because models count lines badly.

/// Applies all hunks; returns the text and their number, or why they do not match.
pub(super) fn apply(text: &str, patch: &str) -> Result<(String, usize), String> {
    let hunks = hunks(patch)?;
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut shift = 0_isize;
    for (number, hunk) in hunks.iter().enumerate() {
        // Line numbers refer to the original file; earlier hunks shift them.
        let wanted = hunk.first.saturating_add_signed(shift);
        let at = find(&lines, &hunk.old, wanted)
            .map_err(|reason| format!("Hunk {} of the patch {reason}", number + 1))?;
        lines.splice(at..at + hunk.old.len(), hunk.new.iter().copied());
        let grown = |count: usize| isize::try_from(count).unwrap_or(isize::MAX);
        shift += grown(hunk.new.len()) - grown(hunk.old.len());
    }
    Ok((lines.concat(), hunks.len()))
}

/// Removed and added lines.
#[derive(Debug, Default)]
struct PatchHunk<'p> {
    /// The first line, counted from 0.
    first: usize,
    old: Vec<&'p str>,
    new: Vec<&'p str>,
}

fn hunks(patch: &str) -> Result<Vec<PatchHunk<'_>>, String> {
    let mut hunks: Vec<PatchHunk<'_>> = Vec::new();
    let mut files = 0;
    let mut before = ' ';
    for line in patch.split_inclusive('\n') {
        if let Some(head) = line.strip_prefix("@@") {
            let first = first_line(head)
                .ok_or("The patch has a hunk whose head is not of the form '@@ -1,2 +1,2 @@'.")?;
            hunks.push(PatchHunk {
                first,
                ..PatchHunk::default()
            });
            continue;
        }
        let Some(hunk) = hunks.last_mut() else {
            // Lines before the first hunk only name files; `path` decides which file is edited.
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
            Some(("\\", _)) => drop_final_newline(hunk, last),
            // Models often drop the space of an empty context line.
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

/// `\ No newline at end of file` applies to the line before it, on its side of the diff.
fn drop_final_newline(hunk: &mut PatchHunk<'_>, last: char) {
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

/// The first line in ` -12,3 +12,4 @@`, counted from 0.
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
