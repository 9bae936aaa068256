//! The voices of espeak-ng, parsed from its own lists. Pure.

use std::collections::BTreeSet;

/// OpenAI's voice names, and the espeak-ng voice for each.
const OPENAI: &[(&str, &str)] = &[
    ("alloy", "en-us"),
    ("ash", "en-us+m2"),
    ("ballad", "en-gb+m3"),
    ("coral", "en-us+f1"),
    ("echo", "en-us+m4"),
    ("fable", "en-gb"),
    ("nova", "en-us+f3"),
    ("onyx", "en-us+m7"),
    ("sage", "en-us+f4"),
    ("shimmer", "en-us+f2"),
    ("verse", "en-us+m1"),
];
const VOICE: &str = "en-us";
/// The letters that a suggested voice has in common with the one asked for.
const NEAR_LETTERS: usize = 2;
/// The columns of names in a line of the list.
const LANGUAGE_COLUMN: usize = 1;
const NAME_COLUMN: usize = 3;
const FILE_COLUMN: usize = 4;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VoiceList {
    names: BTreeSet<String>,
    variants: BTreeSet<String>,
}

impl VoiceList {
    /// Parses the output of `--voices` and `--voices=variant`.
    pub(crate) fn parse(voices: &str, variants: &str) -> VoiceList {
        let column = |line: &str, at: usize| line.split_whitespace().nth(at).map(str::to_lowercase);
        let mut names = BTreeSet::new();
        // The first line contains the column titles.
        for line in voices.lines().skip(1) {
            let columns = [LANGUAGE_COLUMN, NAME_COLUMN, FILE_COLUMN];
            names.extend(columns.iter().filter_map(|&at| column(line, at)));
        }
        let files = variants
            .lines()
            .skip(1)
            .filter_map(|line| column(line, FILE_COLUMN));
        let variants = files.filter_map(|file| file.strip_prefix("!v/").map(str::to_owned));
        VoiceList {
            names,
            variants: variants.collect(),
        }
    }

    /// Returns espeak-ng's voice: one of its own, with a variant after `+`, or the one for an
    /// OpenAI name. The default is English.
    pub(crate) fn choose(&self, asked: Option<&str>) -> Result<String, String> {
        let Some(asked) = asked.map(str::trim).filter(|asked| !asked.is_empty()) else {
            return Ok(VOICE.to_owned());
        };
        let lower = asked.to_lowercase();
        let known = OPENAI.iter().find(|(name, _)| *name == lower);
        let voice = known.map_or(lower.as_str(), |(_, ours)| ours);
        let (name, variant) = match voice.split_once('+') {
            Some((name, variant)) => (name, Some(variant)),
            None => (voice, None),
        };
        // Only known names reach the command line, so a voice cannot be an option or a path.
        let is_known = self.names.contains(name)
            && variant.is_none_or(|variant| self.variants.contains(variant));
        if is_known {
            return Ok(voice.to_owned());
        }
        let shown: String = asked.chars().take(64).collect();
        let near = self
            .near(name)
            .map_or(String::new(), |near| format!(" Did you mean '{near}'?"));
        Err(format!(
            "There is no voice '{shown}'.{near} Use one of 'espeak-ng --voices', such as en, de or fr, with a variant after '+' if you like, such as en-us+f3."
        ))
    }

    /// The first voice that begins with the same letters: `english` stands for none, but near `en`.
    fn near(&self, asked: &str) -> Option<&str> {
        let letters: String = asked.chars().take(NEAR_LETTERS).collect();
        let whole = letters.chars().count() == NEAR_LETTERS;
        let mut names = self.names.iter().filter(|name| name.starts_with(&letters));
        names.next().filter(|_| whole).map(String::as_str)
    }
}

#[cfg(test)]
#[path = "voices_tests.rs"]
mod tests;
