//! Questions that a run has for a person: may this run, did this happen, may it cost more. Each
//! is shown with everything needed to decide, and answered with one key.

pub use super::permission::answer;
use super::person::Person;
use super::{lines, permission};
use crate::failure::Failure;
use crate::render::words::one_line;
use crate::render::{Screen, Tone, moment};
use crate::terminal::Terminal;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{AllowParams, ResolveParams, RunInDoubtPayload, RunPausedPayload};
use hob_wire::rooms::permission::{AnswerParams, Question};
use hob_wire::work::DoubtAnswer;
use std::io;

/// What a person is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    Permission(Box<Question>),
    Doubt(Box<RunInDoubtPayload>),
    Money(RunPausedPayload),
}

/// What they said.
#[derive(Clone, Debug)]
pub enum Said {
    Permission(AnswerParams),
    Doubt(ResolveParams),
    Money(AllowParams),
    /// They would rather stop the run.
    Stop,
    /// Not now: the run stays as it is, waiting.
    Later,
}

impl Asked {
    pub fn run(&self) -> RunId {
        match self {
            Asked::Permission(question) => question.run_id,
            Asked::Doubt(doubt) => doubt.of.run_id,
            Asked::Money(paused) => paused.of.run_id,
        }
    }

    /// The question on lines of its own, without the keys.
    pub fn lines(&self, screen: &Screen) -> Vec<String> {
        match self {
            Asked::Permission(question) => permission::lines(question, screen),
            Asked::Doubt(doubt) => doubt_lines(doubt, screen),
            Asked::Money(paused) => {
                let heading = "The budget is used up.";
                vec![
                    screen.paint(Tone::Warning, heading),
                    format!("  {}", lines::sentence(&paused.message)),
                ]
            }
        }
    }

    /// Shows the question and waits for its answer.
    pub async fn ask(self, person: &Person, screen: &Screen) -> Result<Said, Failure> {
        // The terminal may have another size than when the command began.
        let screen = &Terminal::measured(screen);
        let said = match &self {
            Asked::Permission(question) => permission::ask(question, person, screen).await,
            Asked::Doubt(doubt) => {
                self.lines(screen).iter().for_each(Terminal::note);
                ask_doubt(doubt, person, screen).await
            }
            Asked::Money(paused) => {
                self.lines(screen).iter().for_each(Terminal::note);
                ask_money(paused, person, screen).await
            }
        };
        said.map_err(|error| Failure::failed(format!("The terminal cannot be read: {error}.")))
    }
}

fn doubt_lines(doubt: &RunInDoubtPayload, screen: &Screen) -> Vec<String> {
    let heading = "Nobody knows whether this call happened:";
    let room = screen.width.unwrap_or(usize::MAX).saturating_sub(9);
    let rows = [
        ("tool", one_line(&doubt.call.name)),
        ("with", one_line(&doubt.call.args.to_string())),
        ("began", moment::local(doubt.began_at, screen)),
        ("known", one_line(&doubt.known)),
    ];
    let mut out = vec![screen.paint(Tone::Warning, heading)];
    for (name, value) in rows {
        let pieces = crate::render::words::wrap(&value, room);
        for (index, piece) in pieces.iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            out.push(format!("  {name:<5}  {piece}"));
        }
    }
    out
}

/// Prints what can be answered and waits for a key.
async fn choose(person: &Person, screen: &Screen, answers: &[(char, &str)]) -> io::Result<char> {
    let shown: Vec<String> = answers
        .iter()
        .map(|(key, meaning)| {
            format!(
                "{} {meaning}",
                screen.paint(Tone::Command, &format!("[{key}]"))
            )
        })
        .collect();
    let prompt = format!("  {}  ", shown.join("  "));
    let keys: Vec<char> = answers.iter().map(|(key, _)| *key).collect();
    let key = person.key(&prompt, &keys).await?;
    Terminal::note(key);
    Ok(key)
}

async fn ask_doubt(
    doubt: &RunInDoubtPayload,
    person: &Person,
    screen: &Screen,
) -> io::Result<Said> {
    let answers = [
        ('h', "it happened"),
        ('d', "it did not: run it again"),
        ('g', "give up"),
        ('l', "later"),
    ];
    let (answer, result) = match choose(person, screen, &answers).await? {
        'h' => {
            Terminal::prompt("  What did it answer? (one line, may be empty) ");
            (DoubtAnswer::Happened, person.line().await?)
        }
        'd' => (DoubtAnswer::DidNot, None),
        'g' => (DoubtAnswer::GiveUp, None),
        _ => return Ok(Said::Later),
    };
    Ok(Said::Doubt(ResolveParams {
        run_id: doubt.of.run_id,
        call_id: doubt.call.id.clone(),
        answer,
        result: result.filter(|text| !text.is_empty()),
    }))
}

async fn ask_money(
    paused: &RunPausedPayload,
    person: &Person,
    screen: &Screen,
) -> io::Result<Said> {
    let answers = [('a', "allow more"), ('s', "stop the run"), ('l', "later")];
    match choose(person, screen, &answers).await? {
        'a' => {}
        's' => return Ok(Said::Stop),
        _ => return Ok(Said::Later),
    }
    loop {
        Terminal::prompt("  How many dollars more? ");
        let Some(line) = person.line().await?.filter(|line| !line.is_empty()) else {
            return Ok(Said::Later);
        };
        match parse_dollars(&line) {
            Ok(micro_dollars) => {
                return Ok(Said::Money(AllowParams {
                    run_id: paused.of.run_id,
                    micro_dollars,
                }));
            }
            Err(why) => Terminal::note(format!("  {why}")),
        }
    }
}

/// `0.50` or `$2` in millionths of a dollar, without a detour over floats.
pub fn parse_dollars(text: &str) -> Result<u64, &'static str> {
    const WRONG: &str = "it takes dollars such as 0.50";
    let text = text.trim();
    let text = text.strip_prefix('$').unwrap_or(text);
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && part.is_empty()) || !is_number(whole) || !is_number(part) {
        return Err(WRONG);
    }
    if part.len() > 6 {
        return Err("a millionth of a dollar is the least there is");
    }
    let whole: u64 = format!("0{whole}").parse().map_err(|_| WRONG)?;
    let part: u64 = format!("{part:0<6}").parse().map_err(|_| WRONG)?;
    let micro = whole.checked_mul(1_000_000).ok_or(WRONG)?;
    let micro = micro.checked_add(part).ok_or(WRONG)?;
    if micro == 0 {
        return Err("it takes more than nothing");
    }
    Ok(micro)
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
