//! Questions of a run to a person: a permission, a call in doubt, a used-up budget. Each shows
//! everything needed to decide and is answered with one key.

pub use super::permission::answer;
use super::terminal_user::TerminalUser;
use super::{lines, permission};
use crate::failure::CommandFailure;
use crate::render::text::one_line;
use crate::render::{ScreenStyle, TextTone, time};
use crate::terminal::Terminal;
use hob_core::amounts::parse_dollars;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{
    AgentAllowParams, AgentResolveParams, RunInDoubtPayload, RunPausedPayload,
};
use hob_wire::rooms::permission::{PermissionAnswerParams, PermissionQuestion};
use hob_wire::work::DoubtAnswer;
use std::io;

/// A question to the person.
#[derive(Clone, Debug, PartialEq)]
pub enum UserQuestion {
    Permission(Box<PermissionQuestion>),
    Doubt(Box<RunInDoubtPayload>),
    Budget(RunPausedPayload),
}

/// The answer of the person.
#[derive(Clone, Debug)]
pub enum UserAnswer {
    Permission(PermissionAnswerParams),
    Doubt(AgentResolveParams),
    Budget(AgentAllowParams),
    /// Stop the run.
    Stop,
    /// Not now: the run keeps waiting.
    Later,
}

impl UserQuestion {
    pub fn run(&self) -> RunId {
        match self {
            UserQuestion::Permission(question) => question.run_id,
            UserQuestion::Doubt(doubt) => doubt.run.run_id,
            UserQuestion::Budget(paused) => paused.run.run_id,
        }
    }

    /// The lines of the question without the keys.
    pub fn lines(&self, screen: &ScreenStyle) -> Vec<String> {
        match self {
            UserQuestion::Permission(question) => permission::lines(question, screen),
            UserQuestion::Doubt(doubt) => doubt_lines(doubt, screen),
            UserQuestion::Budget(paused) => {
                let heading = "The budget is used up.";
                vec![
                    screen.paint(TextTone::Warning, heading),
                    format!("  {}", lines::sentence(&paused.message)),
                ]
            }
        }
    }

    /// Shows the question and waits for the answer.
    pub async fn ask(
        self,
        person: &TerminalUser,
        screen: &ScreenStyle,
    ) -> Result<UserAnswer, CommandFailure> {
        // The terminal may have been resized since the command began.
        let screen = &Terminal::remeasured(screen);
        let answered = match &self {
            UserQuestion::Permission(question) => permission::ask(question, person, screen).await,
            UserQuestion::Doubt(doubt) => {
                self.lines(screen).iter().for_each(Terminal::note);
                ask_doubt(doubt, person, screen).await
            }
            UserQuestion::Budget(paused) => {
                self.lines(screen).iter().for_each(Terminal::note);
                ask_budget(paused, person, screen).await
            }
        };
        answered.map_err(|error| {
            CommandFailure::failed(format!("The terminal cannot be read: {error}."))
        })
    }
}

fn doubt_lines(doubt: &RunInDoubtPayload, screen: &ScreenStyle) -> Vec<String> {
    let heading = "It is unknown whether this call happened:";
    let room = screen.width.unwrap_or(usize::MAX).saturating_sub(9);
    let rows = [
        ("tool", one_line(&doubt.call.name)),
        ("with", one_line(&doubt.call.args.to_string())),
        ("began", time::local(doubt.began_at, screen)),
        ("known", one_line(&doubt.known)),
    ];
    let mut out = vec![screen.paint(TextTone::Warning, heading)];
    for (name, value) in rows {
        let pieces = crate::render::text::wrap(&value, room);
        for (index, piece) in pieces.iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            out.push(format!("  {name:<5}  {piece}"));
        }
    }
    out
}

/// Prints the possible answers and waits for a key.
async fn ask_choice(
    person: &TerminalUser,
    screen: &ScreenStyle,
    answers: &[(char, &str)],
) -> io::Result<char> {
    let shown: Vec<String> = answers
        .iter()
        .map(|(key, meaning)| {
            format!(
                "{} {meaning}",
                screen.paint(TextTone::Command, &format!("[{key}]"))
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
    person: &TerminalUser,
    screen: &ScreenStyle,
) -> io::Result<UserAnswer> {
    let answers = [
        ('h', "it happened"),
        ('d', "it did not: run it again"),
        ('g', "give up"),
        ('l', "later"),
    ];
    let (answer, result) = match ask_choice(person, screen, &answers).await? {
        'h' => {
            Terminal::prompt("  What was its result? (one line, may be empty) ");
            (DoubtAnswer::Happened, person.line().await?)
        }
        'd' => (DoubtAnswer::DidNot, None),
        'g' => (DoubtAnswer::GiveUp, None),
        _ => return Ok(UserAnswer::Later),
    };
    Ok(UserAnswer::Doubt(AgentResolveParams {
        run_id: doubt.run.run_id,
        call_id: doubt.call.id.clone(),
        answer,
        result: result.filter(|text| !text.is_empty()),
    }))
}

async fn ask_budget(
    paused: &RunPausedPayload,
    person: &TerminalUser,
    screen: &ScreenStyle,
) -> io::Result<UserAnswer> {
    let answers = [('a', "allow more"), ('s', "stop the run"), ('l', "later")];
    match ask_choice(person, screen, &answers).await? {
        'a' => {}
        's' => return Ok(UserAnswer::Stop),
        _ => return Ok(UserAnswer::Later),
    }
    loop {
        Terminal::prompt("  How many more dollars? ");
        let Some(line) = person.line().await?.filter(|line| !line.is_empty()) else {
            return Ok(UserAnswer::Later);
        };
        match parse_dollars(&line) {
            Ok(micro_dollars) => {
                return Ok(UserAnswer::Budget(AgentAllowParams {
                    run_id: paused.run.run_id,
                    micro_dollars,
                }));
            }
            Err(why) => Terminal::note(format!("  {why}")),
        }
    }
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
