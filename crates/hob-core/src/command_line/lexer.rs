//! Characters to words and operators, as bash reads them. Pure.
//!
//! Quotes are taken off. What is known only when the line runs (variables, patterns of file names,
//! braces) stays as it was written, and its word says from where on. A substitution starts
//! programs of its own, so it makes the line opaque.

/// What a line consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(Word),
    /// What ends a command: `;`, `&&`, a line's end.
    Operator(&'static str),
    Open,
    Close,
    /// A redirection's sign with its number; its target is the next word.
    Redirect(String),
}

/// A word without its quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// Where in `text` something begins that is known only when the line runs.
    pub(super) unknown_at: Option<usize>,
    /// Bytes at the beginning of `text` that were written without quotes.
    pub(super) bare: usize,
    /// It begins with `~/` or `~name/`: a folder that is known only when the line runs.
    pub(super) begins_at_home: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Lexed {
    pub(super) tokens: Vec<Token>,
    pub(super) is_opaque: bool,
    /// A quote, a substitution or a here-document is not closed.
    pub(super) is_unfinished: bool,
}

pub(super) fn lex(line: &str) -> Lexed {
    let mut lexer = Lexer {
        letters: line.chars().collect(),
        ..Lexer::default()
    };
    while lexer.at < lexer.letters.len() {
        lexer.step();
    }
    lexer.end_word();
    lexer.is_unfinished |= !lexer.documents.is_empty();
    Lexed {
        tokens: lexer.tokens,
        is_opaque: lexer.is_opaque || lexer.is_unfinished,
        is_unfinished: lexer.is_unfinished,
    }
}

impl Word {
    /// The end of the path that the word is: `rm` of `/bin/rm`.
    pub(super) fn file_name(&self) -> &str {
        let name = self.text.rsplit('/').next().unwrap_or_default();
        if name.is_empty() { &self.text } else { name }
    }

    /// Whether the program it names is known only when the line runs.
    pub(super) fn hides_its_file_name(&self) -> bool {
        match self.unknown_at {
            None => false,
            Some(0) if self.begins_at_home => !self.text.contains('/'),
            Some(_) => true,
        }
    }

    /// Whether it is this word, unquoted, so that it can be one of the grammar's.
    pub(super) fn is_bare(&self, text: &str) -> bool {
        self.text == text && self.bare == text.len()
    }

    /// Whether it has the form `name=value`, as far as it is unquoted.
    pub(super) fn is_assignment(&self) -> bool {
        let Some((name, _)) = self.text[..self.bare].split_once('=') else {
            return false;
        };
        let name = name.strip_suffix('+').unwrap_or(name);
        let name = match name.split_once('[') {
            Some((name, index)) if index.ends_with(']') => name,
            Some(_) => return false,
            None => name,
        };
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        !name.is_empty()
            && !name.starts_with(|letter: char| letter.is_ascii_digit())
            && name.chars().all(is_letter)
    }

    /// Whether it holds the signs of a substitution, quoted or not: some builtins and variables
    /// are evaluated once more.
    pub(super) fn names_substitution(&self) -> bool {
        self.text.contains("$(") || self.text.contains('`')
    }
}

/// A here-document that begins after the line's end.
#[derive(Debug)]
struct Document {
    delimiter: String,
    is_quoted: bool,
    strips_tabs: bool,
}

#[derive(Debug, Default)]
struct Lexer {
    letters: Vec<char>,
    at: usize,
    word: Option<Word>,
    tokens: Vec<Token>,
    documents: Vec<Document>,
    is_opaque: bool,
    is_unfinished: bool,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    /// Whether this stands here; takes it if so.
    fn takes(&mut self, text: &str) -> bool {
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
        if self.takes("<(") || self.takes(">(") {
            self.push_unknown_quoted('<');
            return self.substitution();
        }
        for sign in REDIRECTS {
            if self.takes(sign) {
                return self.redirect(sign);
            }
        }
        for sign in OPERATORS {
            if self.takes(sign) {
                self.end_word();
                return self.tokens.push(Token::Operator(sign));
            }
        }
        let Some(letter) = self.peek(0) else { return };
        self.at += 1;
        match letter {
            ' ' | '\t' => self.end_word(),
            '\n' => self.end_line(),
            // A terminal takes it for the end of the line.
            '\r' => {
                self.is_opaque = true;
                self.end_line();
            }
            '(' => {
                self.is_opaque |= self.word.is_some() || self.peek(0) == Some('(');
                self.end_word();
                self.tokens.push(Token::Open);
            }
            ')' => {
                self.end_word();
                self.tokens.push(Token::Close);
            }
            '\\' => self.escape(),
            '\'' => self.single_quotes(),
            '"' => self.double_quotes(),
            '$' => self.dollar(false),
            '`' => self.backticks(),
            '*' | '?' | '[' | '{' | '!' => self.push_unknown(letter),
            '~' | '^' | '=' | '%' if self.word.is_none() => self.push_unknown(letter),
            other => {
                // Some shells and locales take other blanks for the end of a word.
                self.is_opaque |= other.is_control() || other.is_whitespace();
                self.push_bare(other);
            }
        }
    }

    fn push_bare(&mut self, letter: char) {
        let word = self.word.get_or_insert_default();
        let is_bare = word.bare == word.text.len();
        word.text.push(letter);
        if is_bare {
            word.bare = word.text.len();
        }
    }

    fn push_unknown(&mut self, letter: char) {
        let word = self.word.get_or_insert_default();
        word.unknown_at.get_or_insert(word.text.len());
        self.push_bare(letter);
    }

    fn push_quoted(&mut self, letter: char) {
        self.word.get_or_insert_default().text.push(letter);
    }

    fn push_unknown_quoted(&mut self, letter: char) {
        let word = self.word.get_or_insert_default();
        word.unknown_at.get_or_insert(word.text.len());
        word.text.push(letter);
    }

    fn escape(&mut self) {
        match self.peek(0) {
            Some('\n') => self.at += 1,
            Some(letter) => {
                self.at += 1;
                self.is_opaque |= is_typed_control(letter);
                self.push_quoted(letter);
            }
            None => self.is_unfinished = true,
        }
    }

    fn single_quotes(&mut self) {
        self.word.get_or_insert_default();
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            if letter == '\'' {
                return;
            }
            self.is_opaque |= is_typed_control(letter);
            self.push_quoted(letter);
        }
        self.is_unfinished = true;
    }

    fn double_quotes(&mut self) {
        self.word.get_or_insert_default();
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            match letter {
                '"' => return,
                '\\' => match self.peek(0) {
                    Some('\n') => self.at += 1,
                    Some(next @ ('$' | '`' | '"' | '\\')) => {
                        self.at += 1;
                        self.push_quoted(next);
                    }
                    _ => self.push_quoted('\\'),
                },
                '$' => self.dollar(true),
                '`' => self.backticks(),
                // An interactive shell looks into its history here too.
                '!' => self.push_unknown_quoted(letter),
                other => {
                    self.is_opaque |= is_typed_control(other);
                    self.push_quoted(other);
                }
            }
        }
        self.is_unfinished = true;
    }

    /// Behind a `$`.
    fn dollar(&mut self, in_quotes: bool) {
        match self.peek(0) {
            Some('(') => {
                self.at += 1;
                self.push_unknown_quoted('$');
                self.substitution();
            }
            Some('[') => {
                self.is_opaque = true;
                self.push_unknown_quoted('$');
            }
            Some('{') => self.braced(),
            Some('\'') if !in_quotes => {
                self.at += 1;
                self.ansi_quotes();
            }
            Some('"') if !in_quotes => self.push_unknown_quoted('$'),
            Some(next) if next.is_ascii_alphanumeric() || "_@*#?$!-".contains(next) => {
                self.at += 1;
                self.push_unknown_quoted('$');
                self.push_quoted(next);
            }
            _ => self.push_quoted('$'),
        }
    }

    /// Behind the `(` of a substitution: to the `)` that closes it, as far as that can be told. Its
    /// programs are not looked for.
    fn substitution(&mut self) {
        self.is_opaque = true;
        self.push_quoted('(');
        let mut depth = 1;
        let mut quote = None;
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            self.push_quoted(letter);
            match (letter, quote) {
                ('\\', None | Some('"')) => self.at += 1,
                ('\'' | '"', None) => quote = Some(letter),
                (_, Some(open)) if letter == open => quote = None,
                ('(', None) => depth += 1,
                (')', None) => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
        self.is_unfinished = true;
    }

    /// Behind a backtick: to the next one. Its programs are not looked for.
    fn backticks(&mut self) {
        self.is_opaque = true;
        self.push_unknown_quoted('`');
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            self.push_quoted(letter);
            match letter {
                '`' => return,
                '\\' => self.at += 1,
                _ => {}
            }
        }
        self.is_unfinished = true;
    }

    /// `${…}`: to the brace that closes it. Nested words may substitute, index or evaluate.
    fn braced(&mut self) {
        self.push_unknown_quoted('$');
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            self.push_quoted(letter);
            match letter {
                '}' => return,
                '{' | '_' => {}
                letter if letter.is_ascii_alphanumeric() => {}
                // Anything but a plain name: its quotes and operators are not followed.
                _ => self.is_opaque = true,
            }
        }
        self.is_unfinished = true;
    }

    /// `$'…'`, with the escapes of C.
    fn ansi_quotes(&mut self) {
        self.word.get_or_insert_default();
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            match letter {
                '\'' => return,
                '\\' => self.ansi_escape(),
                other => self.push_quoted(other),
            }
        }
        self.is_unfinished = true;
    }

    fn ansi_escape(&mut self) {
        let Some(letter) = self.peek(0) else { return };
        self.at += 1;
        let code = match letter {
            'a' => Some(0x07),
            'b' => Some(0x08),
            'e' | 'E' => Some(0x1b),
            'f' => Some(0x0c),
            'n' => Some(0x0a),
            'r' => Some(0x0d),
            't' => Some(0x09),
            'v' => Some(0x0b),
            '\\' | '\'' | '"' | '?' => Some(u32::from(letter)),
            'x' => self.digits(16, 2),
            'u' => self.digits(16, 4),
            'U' => self.digits(16, 8),
            '0'..='7' => {
                self.at -= 1;
                self.digits(8, 3)
            }
            _ => None,
        };
        // A byte beyond ASCII is a part of a letter, and a zero ends the text.
        let is_byte = matches!(letter, 'x' | '0'..='7');
        let code = code.filter(|code| *code != 0 && !(is_byte && *code > 0x7f));
        match code.and_then(char::from_u32) {
            Some(letter) => self.push_quoted(letter),
            None => self.is_opaque = true,
        }
    }

    fn digits(&mut self, radix: u32, digits_max: usize) -> Option<u32> {
        let mut number = None;
        for _ in 0..digits_max {
            let Some(digit) = self.peek(0).and_then(|it| it.to_digit(radix)) else {
                break;
            };
            self.at += 1;
            number = Some(number.unwrap_or(0_u32).saturating_mul(radix) + digit);
        }
        number
    }

    fn comment(&mut self) {
        while let Some(letter) = self.peek(0).filter(|letter| *letter != '\n') {
            self.at += 1;
            // A shell that is typed into may know no comments, and would run what stands here.
            self.is_opaque |= matches!(letter, ';' | '|' | '&' | '(' | ')' | '`' | '\r');
        }
    }

    fn redirect(&mut self, sign: &str) {
        let is_number = |word: &Word| {
            let digits = word.text.bytes().all(|byte| byte.is_ascii_digit());
            digits && word.bare == word.text.len() && !word.text.is_empty()
        };
        let number = self
            .word
            .take_if(|word| is_number(word) && !sign.starts_with('&'));
        self.end_word();
        let number = number.map(|word| word.text).unwrap_or_default();
        self.tokens.push(Token::Redirect(format!("{number}{sign}")));
    }

    fn end_word(&mut self) {
        let Some(mut word) = self.word.take() else {
            return;
        };
        let literal = ["[", "[[", "{", "{}", "!", "!=", "=", "=="];
        if literal.contains(&word.text.as_str()) && word.bare == word.text.len() {
            word.unknown_at = None;
        }
        let is_bare = word.bare == word.text.len();
        word.begins_at_home = word.unknown_at == Some(0) && is_bare && is_home(&word.text);
        let digits = |letter: char| letter.is_ascii_digit();
        if let Some(Token::Redirect(sign)) = self.tokens.last()
            && matches!(sign.trim_start_matches(digits), "<<" | "<<-")
        {
            self.documents.push(Document {
                delimiter: word.text.clone(),
                is_quoted: word.bare != word.text.len(),
                strips_tabs: sign.ends_with('-'),
            });
        }
        self.tokens.push(Token::Word(word));
    }

    fn end_line(&mut self) {
        self.end_word();
        self.tokens.push(Token::Operator("\n"));
        for document in std::mem::take(&mut self.documents) {
            self.document(&document);
        }
    }

    /// Passes over a here-document's text.
    fn document(&mut self, document: &Document) {
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
                return;
            }
            let substitutes = line.contains("$(") || line.contains('`') || line.contains("${");
            self.is_opaque |= substitutes && !document.is_quoted;
            self.is_opaque |= line.chars().any(is_typed_control);
        }
        self.is_unfinished = true;
    }
}

/// A control character that a terminal does not take for text, wherever it stands.
fn is_typed_control(letter: char) -> bool {
    letter.is_control() && !matches!(letter, '\n' | '\t')
}

/// `~/…` or `~name/…`, with nothing more in it that is known only later.
fn is_home(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('~') else {
        return false;
    };
    let plain = |letter: char| letter.is_alphanumeric() || "_-.+@,:/".contains(letter);
    rest.chars().all(plain)
}

#[cfg(test)]
#[path = "lexer_tests.rs"]
mod tests;
