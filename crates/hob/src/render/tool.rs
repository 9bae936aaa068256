//! Formats tools and pending permission questions.

use super::table::TextTable;
use super::text::{one_line, safe_lines};
use super::{ScreenStyle, TextTone, rules, time};
use crate::tree::help_text::quoted;
use hob_wire::rooms::permission::PermissionPendingResult;
use hob_wire::rooms::tool::ToolListResult;

pub fn list(found: &ToolListResult, screen: &ScreenStyle) -> Vec<String> {
    let mut table = TextTable::new()
        .column("TOOL")
        .column("REACHES")
        .column("WHAT IT DOES")
        .lesser();
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
        lines.push(screen.paint(TextTone::Quiet, &line));
    }
    lines
}

/// The pending questions, each with the rules that its answers would store.
pub fn questions(found: &PermissionPendingResult, screen: &ScreenStyle) -> Vec<String> {
    if found.questions.is_empty() {
        return vec!["No pending questions.".to_owned()];
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
        lines.push(screen.paint(TextTone::Heading, &heading));
        let preview = question.preview.as_deref().unwrap_or_default();
        lines.extend(
            safe_lines(preview)
                .into_iter()
                .map(|line| format!("  {line}")),
        );
        let left_ms = question.deadline_at.saturating_sub(screen.now_ms);
        let until = if question.attended {
            "waits for an answer".to_owned()
        } else {
            format!("denied automatically in {}", time::span(left_ms))
        };
        let place = format!("  In session {}; {until}", one_line(&question.session_key));
        let id = quoted(&one_line(&question.id));
        let answer = format!("  Answer: hob permission answer {id} y|n");
        lines.push(screen.paint(TextTone::Quiet, &place));
        lines.push(screen.paint(TextTone::Quiet, &answer));
        for offer in &question.offers {
            let (scope, calls) = (offer.scope.name(), rules::calls(offer));
            let place = rules::reach(offer);
            let line = format!("  y --scope {scope}: also always allow {calls} ({place})");
            lines.push(screen.paint(TextTone::Quiet, &line));
        }
    }
    lines
}
