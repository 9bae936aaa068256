//! Tables: a header line and rows below it.

use super::{OutputKind, ParsedOutput, ROWS_MAX, count, list_some};
use serde_json::json;

pub(super) const KIND: OutputKind = OutputKind {
    name: "table",
    programs: &["free", "lsblk", "docker", "kubectl"],
    read,
};

const COLUMNS_MAX: usize = 40;
const COLUMNS_SHOWN: usize = 8;

fn read(text: &str) -> Option<ParsedOutput> {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let (header, rows) = lines.split_first()?;
    if rows.is_empty() {
        return None;
    }
    let (columns, rows) = by_tabs(header, rows)
        .or_else(|| by_positions(header, rows))
        .or_else(|| by_words(header, rows))?;
    let found = count(rows.len(), "row", "rows");
    let summary = format!(
        "A table of {found} with the columns {}.",
        list_some(&columns, COLUMNS_SHOWN)
    );
    let rows: Vec<Vec<String>> = rows.into_iter().take(ROWS_MAX).collect();
    Some(ParsedOutput {
        parsed: json!({ "columns": columns, "rows": rows }),
        summary,
        ..ParsedOutput::default()
    })
}

type ParsedTable = (Vec<String>, Vec<Vec<String>>);

fn by_tabs(header: &str, rows: &[&str]) -> Option<ParsedTable> {
    let cells = |line: &str| {
        line.split('\t')
            .map(|cell| cell.trim().to_owned())
            .collect::<Vec<_>>()
    };
    let columns = cells(header);
    let fits = (2..=COLUMNS_MAX).contains(&columns.len());
    let rows: Vec<Vec<String>> = rows.iter().map(|row| cells(row)).collect();
    (fits && rows.iter().all(|row| row.len() == columns.len())).then_some((columns, rows))
}

/// Splits at the positions of the column names, which are separated by at least two blanks.
fn by_positions(header: &str, rows: &[&str]) -> Option<ParsedTable> {
    if !header.is_ascii() {
        return None;
    }
    let mut starts = Vec::new();
    for (at, byte) in header.bytes().enumerate() {
        // A name may contain single blanks; two blanks separate columns.
        let first = at == 0 || (at > 1 && header[at - 2..at] == *"  ");
        if byte != b' ' && first {
            starts.push(at);
        }
    }
    let names = is_header(header);
    if starts.first() != Some(&0) || !(2..=COLUMNS_MAX).contains(&starts.len()) || !names {
        return None;
    }
    let cut = |line: &str| {
        let places: Vec<usize> = line.char_indices().map(|(at, _)| at).collect();
        let at = |column: usize| places.get(column).copied().unwrap_or(line.len());
        let mut cells = Vec::with_capacity(starts.len());
        for (column, start) in starts.iter().enumerate() {
            // A word that crosses into the next column shows that the text has no such columns.
            if *start > 0 && !line[..at(*start)].ends_with(' ') && at(*start) < line.len() {
                return None;
            }
            let end = starts.get(column + 1).map_or(line.len(), |next| at(*next));
            cells.push(line[at(*start)..end].trim().to_owned());
        }
        Some(cells)
    };
    let columns = cut(header)?;
    let rows = rows
        .iter()
        .map(|row| cut(row))
        .collect::<Option<Vec<_>>>()?;
    Some((columns, rows))
}

/// Splits at blanks: each row has as many words as the header, or one more that names the row.
fn by_words(header: &str, rows: &[&str]) -> Option<ParsedTable> {
    let words = |line: &str| {
        line.split_whitespace()
            .map(ToOwned::to_owned)
            .collect::<Vec<String>>()
    };
    let mut columns = words(header);
    // `free` and others leave the first column without a name.
    let titled = header.starts_with(' ');
    if !(2..=COLUMNS_MAX).contains(&columns.len()) || !(is_header(header) || titled) {
        return None;
    }
    if titled {
        columns.insert(0, String::new());
    }
    let mut rows: Vec<Vec<String>> = rows.iter().map(|row| words(row)).collect();
    let least = if titled { 2 } else { columns.len() };
    if !rows
        .iter()
        .all(|row| (least..=columns.len()).contains(&row.len()))
    {
        return None;
    }
    for row in &mut rows {
        row.resize(columns.len(), String::new());
    }
    Some((columns, rows))
}

/// Returns true if a line consists of names such as `CONTAINER ID` or `MAJ:MIN`.
fn is_header(header: &str) -> bool {
    header.chars().any(|c| c.is_ascii_uppercase())
        && !header.chars().any(|c| c.is_ascii_lowercase())
}
