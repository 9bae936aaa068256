//! Splits characters into words and operators, as bash reads them. Pure.
//!
//! Quotes are removed. Parts known only when the line runs (variables, globs, braces) stay as
//! written, and the word records where they begin. A substitution starts programs of its own, so it
//! makes the line opaque.

use super::quotes::is_typed_control;
use super::word::{FolderVariable, ShellWord};

/// A token of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShellToken {
    Word(ShellWord),
    /// The end of a command: `;`, `&&`, the end of the line.
    Operator(&'static str),
    Open,
    Close,
    /// A redirection with its number; its target is the next word.
    Redirect(String),
}

#[derive(Clone, Debug, Default)]
pub(super) struct LexedLine {
    pub(super) tokens: Vec<ShellToken>,
    pub(super) is_opaque: bool,
    /// A quote, a substitution or a here-document is not closed.
    pub(super) is_unfinished: bool,
}

pub(super) fn lex(line: &str) -> LexedLine {
    let mut lexer = Lexer {
        letters: line.chars().collect(),
        ..Lexer::default()
    };
    while lexer.at < lexer.letters.len() {
        lexer.step();
    }
    lexer.end_word();
    // The text of a here-document begins on the next line, which never came.
    lexer.is_unfinished |= !lexer.documents.is_empty();
    LexedLine {
        tokens: lexer.tokens,
        is_opaque: lexer.is_opaque || lexer.is_unfinished,
        is_unfinished: lexer.is_unfinished,
    }
}

/// A here-document that begins after the end of the line.
#[derive(Debug)]
struct HereDocument {
    /// The token of its delimiter.
    token: usize,
    delimiter: String,
    is_quoted: bool,
    strips_tabs: bool,
}

#[derive(Debug, Default)]
pub(super) struct Lexer {
    pub(super) letters: Vec<char>,
    pub(super) at: usize,
    pub(super) word: Option<ShellWord>,
    tokens: Vec<ShellToken>,
    documents: Vec<HereDocument>,
    pub(super) is_opaque: bool,
    pub(super) is_unfinished: bool,
}

impl Lexer {
    pub(super) fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    /// Consumes this text if it comes next.
    fn take_if(&mut self, text: &str) -> bool {
        let here = text.chars().enumerate();
        let is_here = here.clone().all(|(ahead, it)| self.peek(ahead) == Some(it));
        if is_here {
            self.at += here.count();
        }
        is_here
    }

    fn step(&mut self) {
        /// Longer ones first.
        const OPERATORS: [&str; 9] = [";;&", ";;", ";&", "&&", "||", "|&", ";", "|", "&"];
        const REDIRECTS: [&str; 12] = [
            "&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">|", ">&", "<", ">",
        ];
        if self.word.is_none() && self.peek(0) == Some('#') {
            return self.comment();
        }
        if self.take_if("<(") || self.take_if(">(") {
            self.push_unknown_quoted('<');
            return self.substitution();
        }
        // Tried before the operators: `&>` begins like `&`.
        for sign in REDIRECTS {
            if self.take_if(sign) {
                return self.redirect(sign);
            }
        }
        for sign in OPERATORS {
            if self.take_if(sign) {
                self.end_word();
                return self.tokens.push(ShellToken::Operator(sign));
            }
        }
        let Some(letter) = self.peek(0) else { return };
        self.at += 1;
        match letter {
            ' ' | '\t' => self.end_word(),
            '\n' => self.end_line(),
            // A terminal treats it as the end of the line.
            '\r' => {
                self.is_opaque = true;
                self.end_line();
            }
            '(' => {
                // After a word it begins a function or a pattern, and two of them begin arithmetic.
                self.is_opaque |= self.word.is_some() || self.peek(0) == Some('(');
                self.end_word();
                self.tokens.push(ShellToken::Open);
            }
            ')' => {
                self.end_word();
                self.tokens.push(ShellToken::Close);
            }
            '\\' => self.escape(),
            '\'' => self.single_quotes(),
            '"' => self.double_quotes(),
            '$' => self.dollar(false),
            '`' => self.backticks(),
            '*' | '?' | '[' | '{' | '!' => self.push_unknown(letter),
            '~' if self.word.is_none() => {
                self.push_bare(letter);
                self.word.get_or_insert_default().unknown_at = Some(0);
            }
            // Some shells expand these at the beginning of a word.
            '^' | '=' | '%' if self.word.is_none() => self.push_unknown(letter),
            other => {
                // Some shells and locales treat other blanks as the end of a word.
                self.is_opaque |= other.is_control() || other.is_whitespace();
                self.push_bare(other);
            }
        }
    }

    fn push_bare(&mut self, letter: char) {
        let word = self.word.get_or_insert_default();
        let is_bare = word.unquoted_bytes == word.text.len();
        word.text.push(letter);
        if is_bare {
            word.unquoted_bytes = word.text.len();
        }
    }

    fn push_unknown(&mut self, letter: char) {
        let word = self.word.get_or_insert_default();
        word.unknown_at.get_or_insert(word.text.len());
        word.is_decided_later = true;
        self.push_bare(letter);
    }

    pub(super) fn push_quoted(&mut self, letter: char) {
        self.word.get_or_insert_default().text.push(letter);
    }

    pub(super) fn push_unknown_quoted(&mut self, letter: char) {
        let word = self.word.get_or_insert_default();
        word.unknown_at.get_or_insert(word.text.len());
        word.is_decided_later = true;
        word.text.push(letter);
    }

    /// Appends a variable as it is written.
    pub(super) fn push_variable(&mut self, name: &str, written: &str) {
        let word = self.word.get_or_insert_default();
        let start = word.text.len();
        word.unknown_at.get_or_insert(start);
        word.text.push_str(written);
        match FolderVariable::named(name) {
            Some(folder) => word.folders.push((folder, start..word.text.len())),
            None => word.is_decided_later = true,
        }
    }

    fn comment(&mut self) {
        while let Some(letter) = self.peek(0).filter(|letter| *letter != '\n') {
            self.at += 1;
            // An interactive shell may not know comments and would run the text.
            self.is_opaque |= matches!(letter, ';' | '|' | '&' | '(' | ')' | '`' | '\r');
        }
    }

    fn redirect(&mut self, sign: &str) {
        let is_number = |word: &ShellWord| {
            let digits = word.text.bytes().all(|byte| byte.is_ascii_digit());
            digits && word.unquoted_bytes == word.text.len() && !word.text.is_empty()
        };
        let number = self
            .word
            // `2&>` has no number: there the digit is an argument of its own.
            .take_if(|word| is_number(word) && !sign.starts_with('&'));
        self.end_word();
        let number = number.map(|word| word.text).unwrap_or_default();
        self.tokens
            .push(ShellToken::Redirect(format!("{number}{sign}")));
    }

    fn end_word(&mut self) {
        let Some(mut word) = self.word.take() else {
            return;
        };
        // These words contain glob characters but mean themselves.
        let literal = ["[", "[[", "{", "{}", "!", "!=", "=", "=="];
        if literal.contains(&word.text.as_str()) && word.unquoted_bytes == word.text.len() {
            word.unknown_at = None;
            word.is_decided_later = false;
        }
        // A `~` was not quoted if it is unknown.
        if word.unknown_at == Some(0) && word.text.starts_with('~') {
            // `~name` is the home of somebody else, and a quoted `/` does not end the name.
            let is_own = word.text == "~" || word.text[..word.unquoted_bytes].starts_with("~/");
            if is_own {
                word.folders.insert(0, (FolderVariable::Home, 0..1));
            } else {
                word.is_decided_later = true;
            }
        }
        let is_bare = word.unquoted_bytes == word.text.len();
        word.begins_at_home = word.unknown_at == Some(0) && is_bare && is_home_path(&word.text);
        let digits = |letter: char| letter.is_ascii_digit();
        if let Some(ShellToken::Redirect(sign)) = self.tokens.last()
            && matches!(sign.trim_start_matches(digits), "<<" | "<<-")
        {
            self.documents.push(HereDocument {
                // The place of the delimiter's word, which is pushed below.
                token: self.tokens.len(),
                delimiter: word.text.clone(),
                is_quoted: word.unquoted_bytes != word.text.len(),
                strips_tabs: sign.ends_with('-'),
            });
        }
        self.tokens.push(ShellToken::Word(word));
    }

    fn end_line(&mut self) {
        self.end_word();
        self.tokens.push(ShellToken::Operator("\n"));
        for document in std::mem::take(&mut self.documents) {
            let text = self.here_document(&document);
            let substitutions = if document.is_quoted {
                Vec::new()
            } else {
                substitutions_in(&text)
            };
            if let Some(ShellToken::Word(word)) = self.tokens.get_mut(document.token) {
                word.substitutions.extend(substitutions);
                word.document = Some(text);
            }
        }
    }

    /// Returns the text of a here-document.
    fn here_document(&mut self, document: &HereDocument) -> String {
        let mut text = String::new();
        while self.at < self.letters.len() {
            let rest = &self.letters[self.at..];
            let end = rest.iter().position(|letter| *letter == '\n');
            let line: String = rest[..end.unwrap_or(rest.len())].iter().collect();
            self.at += end.map_or(rest.len(), |end| end + 1);
            let bare = if document.strips_tabs {
                line.trim_start_matches('\t')
            } else {
                &line
            };
            if bare == document.delimiter {
                return text;
            }
            let substitutes = line.contains("$(") || line.contains('`') || line.contains("${");
            self.is_opaque |= substitutes && !document.is_quoted;
            self.is_opaque |= line.chars().any(is_typed_control);
            text.push_str(bare);
            text.push('\n');
        }
        self.is_unfinished = true;
        text
    }
}

/// Returns the command lines that a shell runs to expand a text, as in double quotes.
fn substitutions_in(text: &str) -> Vec<String> {
    let mut lexer = Lexer {
        letters: text.chars().collect(),
        ..Lexer::default()
    };
    // A double quote is an ordinary letter here, so reading goes on behind it.
    while lexer.at < lexer.letters.len() {
        lexer.double_quotes();
    }
    lexer.word.unwrap_or_default().substitutions
}

/// Returns true for `~/…` or `~name/…` without anything else that is known only later.
fn is_home_path(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('~') else {
        return false;
    };
    let plain = |letter: char| letter.is_alphanumeric() || "_-.+@,:/".contains(letter);
    rest.chars().all(plain)
}

#[cfg(test)]
#[path = "lexer_tests.rs"]
mod tests;
