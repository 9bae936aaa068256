//! Formats a loop event as one line, for output that is not a terminal. Pure.

use crate::render::loops::{monitor_text, monitor_words};
use crate::render::text::{bytes, count_noun, one_line, truncate};
use crate::render::{ScreenStyle, TextTone, time};
use hob_client::BusEvent;
use hob_wire::rooms::loops::{
    LoopConfigured, LoopDeleted, LoopError, LoopIteration, LoopMonitor, LoopPhase, LoopPrompt,
    LoopResponse, LoopStateChanged, LoopStatePayload, LoopStopped, WorkOutcome,
};

/// The longest event text; the history has the full text.
const COLUMNS_MAX: usize = 400;

/// Formats a loop event; returns `None` for other events.
pub(super) fn event_line(event: &BusEvent, screen: &ScreenStyle) -> Option<String> {
    let (tone, text) = describe(event, screen)?;
    let at = screen.paint(TextTone::Quiet, &time::clock(screen.now_ms, screen));
    let room = screen.width.map_or(COLUMNS_MAX, |it| it.saturating_sub(10));
    let text = truncate(&one_line(&text), room);
    let text = tone.map_or(text.clone(), |tone| screen.paint(tone, &text));
    Some(format!("{at}  {text}"))
}

fn describe(event: &BusEvent, screen: &ScreenStyle) -> Option<(Option<TextTone>, String)> {
    if let Some(began) = event.read::<LoopIteration>() {
        let text = format!("iteration {} begins", began.iteration);
        return Some((Some(TextTone::Heading), text));
    }
    if let Some(changed) = event.read::<LoopMonitor>() {
        let lines = monitor_text(&changed.output).lines().count() as u64;
        let how = monitor_words(&changed.output, screen);
        return Some((
            None,
            format!("monitor: {how}, {}", count_noun(lines, "line")),
        ));
    }
    if let Some(sent) = event.read::<LoopPrompt>() {
        let size = bytes(sent.prompt.len() as u64);
        return Some((None, format!("prompt: {size} sent")));
    }
    if let Some(answered) = event.read::<LoopResponse>() {
        return Some((
            Some(TextTone::Good),
            format!("answer: {}", answered.response),
        ));
    }
    if let Some(error) = event.read::<LoopError>() {
        return Some((Some(TextTone::Bad), format!("error: {}", error.message)));
    }
    if let Some(changed) = event.read::<LoopStateChanged>() {
        return Some((None, state_text(&changed, screen)));
    }
    if let Some(stopped) = event.read::<LoopStopped>() {
        return Some((
            Some(TextTone::Heading),
            format!("ended: {}", stopped.message),
        ));
    }
    if event.read::<LoopConfigured>().is_some() {
        return Some((None, "changed: the loop or one of its memories".to_owned()));
    }
    event.read::<LoopDeleted>()?;
    Some((Some(TextTone::Heading), "deleted".to_owned()))
}

fn state_text(changed: &LoopStatePayload, screen: &ScreenStyle) -> String {
    let word = match changed.phase {
        LoopPhase::Idle if changed.running => "starting",
        LoopPhase::Idle => "idle",
        LoopPhase::Monitor => "monitor",
        LoopPhase::Prompt => "asking",
        LoopPhase::Sleep => "sleeping",
        LoopPhase::Stopping => "stopping",
    };
    let next = changed
        .next_at
        .map(|at| format!(", next at {}", time::clock(at, screen)));
    let note = match (changed.outcome, changed.message.as_deref()) {
        (Some(WorkOutcome::RanWithDenials | WorkOutcome::RanWithFailures), Some(message)) => {
            format!("; {message}")
        }
        _ => String::new(),
    };
    format!("state: {word}{}{note}", next.unwrap_or_default())
}
