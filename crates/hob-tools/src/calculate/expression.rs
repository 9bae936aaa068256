//! Parses and evaluates an expression in one pass.
//!
//! Invariants: the depth is bounded, so no expression exhausts the stack; every operation is exact
//! or an error.

use super::ratio::Ratio;

/// Levels of nested parentheses, signs and powers.
const DEPTH_MAX: usize = 64;

type EvalResult = Result<Ratio, String>;

/// The value of an expression, or a sentence about its error.
pub(super) fn value(text: &str) -> EvalResult {
    let mut reader = ExpressionParser {
        rest: text,
        length: text.len(),
        depth: 0,
    };
    let value = reader.sum()?;
    match reader.peek() {
        None => Ok(value),
        Some(letter) => Err(reader.unexpected(letter)),
    }
}

struct ExpressionParser<'t> {
    rest: &'t str,
    length: usize,
    depth: usize,
}

impl ExpressionParser<'_> {
    fn sum(&mut self) -> EvalResult {
        let mut value = self.product()?;
        loop {
            value = match self.peek() {
                Some('+') => value.add(self.after(ExpressionParser::product)?),
                Some('-') => value.add(self.after(ExpressionParser::product)?.negate()),
                _ => return Ok(value),
            }
            .ok_or_else(too_large)?;
        }
    }

    fn product(&mut self) -> EvalResult {
        let mut value = self.signed()?;
        loop {
            let Some(sign @ ('*' | '/' | '%' | '×' | '÷')) = self.peek() else {
                return Ok(value);
            };
            let other = self.after(ExpressionParser::signed)?;
            if matches!(sign, '/' | '%' | '÷') && other.is_zero() {
                return Err("This divides by zero.".to_owned());
            }
            value = match sign {
                '*' | '×' => value.multiply(other),
                '%' => value.modulo(other),
                _ => value.divide(other),
            }
            .ok_or_else(too_large)?;
        }
    }

    fn signed(&mut self) -> EvalResult {
        self.deeper(|reader| match reader.peek() {
            Some('-') => Ok(reader.after(ExpressionParser::signed)?.negate()),
            Some('+') => reader.after(ExpressionParser::signed),
            _ => reader.power(),
        })
    }

    fn power(&mut self) -> EvalResult {
        let base = self.atom()?;
        if self.peek() != Some('^') {
            return Ok(base);
        }
        let exponent = self.after(ExpressionParser::signed)?;
        if base.is_zero() && exponent.is_below(Ratio::whole(0).ok_or_else(too_large)?) == Some(true)
        {
            return Err("This divides by zero.".to_owned());
        }
        let refused =
            || "A power must have a whole exponent, and a value that is not too large.".to_owned();
        base.power(exponent).ok_or_else(refused)
    }

    fn atom(&mut self) -> EvalResult {
        match self.peek() {
            Some('(') => {
                let value = self.after(ExpressionParser::sum)?;
                self.close()?;
                Ok(value)
            }
            Some(letter) if letter.is_ascii_digit() || letter == '.' => self.number(),
            Some(letter) if letter.is_ascii_alphabetic() => self.function(),
            Some(letter) => Err(self.unexpected(letter)),
            None => Err("The expression ends where a number should follow.".to_owned()),
        }
    }

    fn function(&mut self) -> EvalResult {
        let end = self.rest.find(|letter: char| !letter.is_ascii_alphabetic());
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let known = ["abs", "floor", "ceil", "round", "min", "max"];
        if !known.contains(&name) {
            return Err(format!(
                "'{name}' is not known here; there are abs, floor, ceil, round, min and max."
            ));
        }
        self.rest = rest;
        if self.peek() != Some('(') {
            return Err(format!("A parenthesis should follow '{name}'."));
        }
        let mut value = apply(name, self.after(ExpressionParser::sum)?)?;
        while self.peek() == Some(',') {
            let other = self.after(ExpressionParser::sum)?;
            let is_less = other.is_below(value).ok_or_else(too_large)?;
            value = match (name, is_less) {
                ("min", true) | ("max", false) => other,
                ("min" | "max", _) => value,
                _ => return Err(format!("'{name}' takes one number.")),
            };
        }
        self.close()?;
        Ok(value)
    }

    fn number(&mut self) -> EvalResult {
        let is_part = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '_');
        let end = self.rest.find(|letter| !is_part(letter));
        let (text, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let odd = || format!("'{text}' is not a number.");
        let plain = text.replace('_', "");
        let (whole, part) = plain.split_once('.').unwrap_or((&plain, ""));
        if part.contains('.') || (whole.is_empty() && part.is_empty()) {
            return Err(odd());
        }
        let digits: i128 = format!("{whole}{part}").parse().map_err(|_| too_large())?;
        let places = u32::try_from(part.len()).map_err(|_| too_large())?;
        let below = 10_i128.checked_pow(places).ok_or_else(too_large)?;
        self.rest = rest;
        Ratio::new(digits, below).ok_or_else(too_large)
    }

    fn close(&mut self) -> Result<(), String> {
        if self.peek() != Some(')') {
            return Err("A closing parenthesis is missing.".to_owned());
        }
        self.rest = &self.rest[1..];
        Ok(())
    }

    /// Consumes the current character and parses on.
    fn after(&mut self, read: fn(&mut Self) -> EvalResult) -> EvalResult {
        let letter = self.rest.chars().next().map_or(0, char::len_utf8);
        self.rest = &self.rest[letter..];
        self.deeper(read)
    }

    fn deeper(&mut self, read: impl FnOnce(&mut Self) -> EvalResult) -> EvalResult {
        self.depth += 1;
        if self.depth > 2 * DEPTH_MAX {
            return Err(format!(
                "The expression is nested deeper than {DEPTH_MAX} levels."
            ));
        }
        let value = read(self);
        self.depth -= 1;
        value
    }

    /// The next character that is not a space.
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn unexpected(&self, letter: char) -> String {
        let at = self.length - self.rest.len();
        format!(
            "'{}' at {at} does not belong there.",
            letter.escape_default()
        )
    }
}

fn apply(name: &str, value: Ratio) -> EvalResult {
    let half = Ratio::new(1, 2).ok_or_else(too_large)?;
    Ok(match name {
        "abs" => value.abs(),
        "floor" => value.floor(),
        "ceil" => value.negate().floor().negate(),
        // Half rounds away from zero, as taught in school.
        "round" => {
            let rounded = value.abs().add(half).ok_or_else(too_large)?.floor();
            let is_below = value.is_below(Ratio::whole(0).ok_or_else(too_large)?);
            if is_below.ok_or_else(too_large)? {
                rounded.negate()
            } else {
                rounded
            }
        }
        _ => value,
    })
}

fn too_large() -> String {
    "The numbers become too large or too fine to be exact.".to_owned()
}
