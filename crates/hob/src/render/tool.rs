//! Tools, and the questions their calls raise, as a person reads them.

use super::table::Table;
use super::words::{many_lines, one_line};
use super::{Screen, Tone, moment, rules};
use crate::tree::text::quoted;
use hob_wire::rooms::permission::Questions;
use hob_wire::rooms::tool::Tools;

pub fn list(found: &Tools, screen: &Screen) -> Vec<String> {
    let mut table = Table::new()
        .column("TOOL")
        .column("REACHES")
        .column("WHAT IT DOES");
    for tool in &found.tools {
        let first = tool.description.lines().next().unwrap_or_default();
        table.row(vec![
            one_line(&tool.name),
            tool.tier.name().to_owned(),
            one_line(first),
        ]);
    }
    let mut lines = table.lines(screen);
    for tool in &found.outside {
        let line = match &tool.set_by {
            Some(by) => format!(
                "{} is of the service {}; {} set that it reaches {}.",
                one_line(&tool.name),
                one_line(&tool.service),
                one_line(by),
                tool.tier.name()
            ),
            None => format!(
                "{name} is of the service {}, which says that it reaches {}. To believe it: hob tool tier {name} {}",
                one_line(&tool.service),
                tool.declared_tier.name(),
                tool.declared_tier.name(),
                name = one_line(&tool.name),
            ),
        };
        lines.push(screen.paint(Tone::Quiet, &line));
    }
    lines
}

/// Each question with all that its answer would allow.
pub fn questions(found: &Questions, screen: &Screen) -> Vec<String> {
    if found.questions.is_empty() {
        return vec!["No question waits for an answer.".to_owned()];
    }
    let mut lines = Vec::new();
    for question in &found.questions {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        let heading = format!(
            "{} ({})",
            one_line(&question.sentence),
            question.tier.name()
        );
        lines.push(screen.paint(Tone::Heading, &heading));
        let preview = question.preview.as_deref().unwrap_or_default();
        lines.extend(
            many_lines(preview)
                .into_iter()
                .map(|line| format!("  {line}")),
        );
        let left_ms = question.deadline_at.saturating_sub(screen.now_ms);
        let until = if question.attended {
            "waits for an answer".to_owned()
        } else {
            format!("denied automatically in {}", moment::span(left_ms))
        };
        let place = format!("  In session {}; {until}", one_line(&question.session_key));
        let id = quoted(&one_line(&question.id));
        let answer = format!("  Answer: hob permission answer {id} y|n");
        lines.push(screen.paint(Tone::Quiet, &place));
        lines.push(screen.paint(Tone::Quiet, &answer));
        for offer in &question.offers {
            let (scope, calls) = (offer.scope.name(), rules::calls(offer));
            let place = rules::reach(offer);
            let line = format!("  y --scope {scope}: from now on allow {calls} ({place})");
            lines.push(screen.paint(Tone::Quiet, &line));
        }
    }
    lines
}
