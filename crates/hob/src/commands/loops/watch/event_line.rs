//! An event of a loop as one line, for a file or another program's eyes. Pure.

use crate::render::loops::{monitor_text, monitor_words};
use crate::render::words::{bytes, count, cut, one_line};
use crate::render::{Screen, Tone, moment};
use hob_client::Event;
use hob_wire::rooms::loops::{
    LoopConfigured, LoopDeleted, LoopError, LoopIteration, LoopMonitor, LoopPhase, LoopPrompt,
    LoopResponse, LoopStateChanged, LoopStatePayload, LoopStopped, WorkOutcome,
};

/// Columns of what an event says; the history has the whole.
const WORDS_MAX: usize = 400;

/// What an event of a loop says; nothing for events of another kind.
pub(super) fn line(event: &Event, screen: &Screen) -> Option<String> {
    let (tone, words) = said(event, screen)?;
    let at = screen.paint(Tone::Quiet, &moment::clock(screen.now_ms, screen));
    let room = screen.width.map_or(WORDS_MAX, |it| it.saturating_sub(10));
    let words = cut(&one_line(&words), room);
    let words = tone.map_or(words.clone(), |tone| screen.paint(tone, &words));
    Some(format!("{at}  {words}"))
}

fn said(event: &Event, screen: &Screen) -> Option<(Option<Tone>, String)> {
    if let Some(began) = event.read::<LoopIteration>() {
        let words = format!("iteration {} begins", began.iteration);
        return Some((Some(Tone::Heading), words));
    }
    if let Some(told) = event.read::<LoopMonitor>() {
        let lines = monitor_text(&told.output).lines().count() as u64;
        let how = monitor_words(&told.output, screen);
        return Some((None, format!("monitor: {how}, {}", count(lines, "line"))));
    }
    if let Some(sent) = event.read::<LoopPrompt>() {
        let size = bytes(sent.prompt.len() as u64);
        return Some((None, format!("prompt: {size} sent")));
    }
    if let Some(answered) = event.read::<LoopResponse>() {
        return Some((Some(Tone::Good), format!("answer: {}", answered.response)));
    }
    if let Some(error) = event.read::<LoopError>() {
        return Some((Some(Tone::Bad), format!("error: {}", error.message)));
    }
    if let Some(told) = event.read::<LoopStateChanged>() {
        return Some((None, state(&told, screen)));
    }
    if let Some(stopped) = event.read::<LoopStopped>() {
        return Some((Some(Tone::Heading), format!("ended: {}", stopped.message)));
    }
    if event.read::<LoopConfigured>().is_some() {
        return Some((None, "changed: the loop or one of its memories".to_owned()));
    }
    event.read::<LoopDeleted>()?;
    Some((Some(Tone::Heading), "deleted".to_owned()))
}

fn state(told: &LoopStatePayload, screen: &Screen) -> String {
    let word = match told.phase {
        LoopPhase::Idle if told.running => "starting",
        LoopPhase::Idle => "idle",
        LoopPhase::Monitor => "monitor",
        LoopPhase::Prompt => "asking",
        LoopPhase::Sleep => "sleeping",
        LoopPhase::Stopping => "stopping",
    };
    let next = told
        .next_at
        .map(|at| format!(", next at {}", moment::clock(at, screen)));
    let note = match (told.outcome, told.message.as_deref()) {
        (Some(WorkOutcome::RanWithDenials | WorkOutcome::RanWithFailures), Some(message)) => {
            format!("; {message}")
        }
        _ => String::new(),
    };
    format!("state: {word}{}{note}", next.unwrap_or_default())
}
