//! Names of jobs. Vargos's are any text and may repeat; hob's are unique, and made of lower-case
//! letters, digits and dashes. The text is kept as the job's title. Pure.

/// Bytes of a name before its number. hob's names have at most 64.
const STEM_BYTES_MAX: usize = 56;
/// The name of a job whose text has no letter or digit.
const NAMELESS: &str = "task";
/// Jobs of one text.
const NUMBER_MAX: usize = 100;

/// The names for a text, the best first: all but the first are numbered.
pub(crate) fn candidates(shown: &str) -> impl Iterator<Item = String> {
    let stem = stem(shown);
    let first = stem.clone();
    let numbered = (2..=NUMBER_MAX).map(move |number| format!("{stem}-{number}"));
    std::iter::once(first).chain(numbered)
}

fn stem(shown: &str) -> String {
    let mut stem = String::new();
    for letter in shown.chars() {
        if letter.is_ascii_alphanumeric() {
            stem.push(letter.to_ascii_lowercase());
        } else if !stem.is_empty() && !stem.ends_with('-') {
            stem.push('-');
        }
    }
    stem.truncate(STEM_BYTES_MAX);
    let stem = stem.trim_end_matches('-');
    if stem.is_empty() { NAMELESS } else { stem }.to_owned()
}

#[cfg(test)]
#[path = "job_names_tests.rs"]
mod tests;
