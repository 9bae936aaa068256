//! The answers that a question offers, and the requests they become. Pure.

use super::Question;
use super::rule_text::rule_summary;
use crate::actions::Action;
use hob_wire::rooms::agent::{AgentAllowParams, AgentResolveParams};
use hob_wire::rooms::permission::{
    AnswerReach, PermissionAnswerParams, PermissionDecision, PermissionQuestion, RuleTerms,
};
use hob_wire::work::DoubtAnswer;

/// An answer that can be given now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub action: Action,
    pub words: &'static str,
    /// The rule that this answer stores too.
    pub rule: Option<String>,
}

/// The answers of a question, in the order in which they are shown.
pub fn choices(question: &Question) -> Vec<Choice> {
    let plain = |action, words| Choice {
        action,
        words,
        rule: None,
    };
    match question {
        Question::Permission(question) => {
            let mut out = vec![
                plain(Action::AllowOnce, "yes, once"),
                plain(Action::Deny, "no"),
            ];
            for (action, reach, words) in REACHES {
                let offer = question.offers.iter().find(|offer| offer.scope == reach);
                out.extend(offer.map(|offer| Choice {
                    action,
                    words,
                    rule: Some(rule_summary(question, offer)),
                }));
            }
            out.push(plain(Action::CardLater, "later"));
            out
        }
        Question::Doubt(_) => vec![
            plain(Action::Happened, "it happened"),
            plain(Action::DidNotHappen, "it did not: run it again"),
            plain(Action::GiveUp, "give up"),
            plain(Action::CardLater, "later"),
        ],
        Question::Money(_) => vec![
            plain(Action::MoreMoney, "allow more"),
            plain(Action::CardStop, "stop the run"),
            plain(Action::CardLater, "later"),
        ],
    }
}

const REACHES: [(Action, AnswerReach, &str); 4] = [
    (Action::AllowRun, AnswerReach::Run, "this run"),
    (Action::AllowSession, AnswerReach::Session, "this session"),
    (Action::AllowFolder, AnswerReach::Folder, "this folder"),
    (Action::AllowAlways, AnswerReach::Always, "always"),
];

/// The answer to a permission question, if the action is one of its choices.
pub(crate) fn permission_answer(
    question: &PermissionQuestion,
    action: Action,
) -> Option<PermissionAnswerParams> {
    let (decision, reach) = match action {
        Action::AllowOnce => (PermissionDecision::Allow, None),
        Action::Deny => (PermissionDecision::Deny, None),
        _ => {
            let (_, reach, _) = REACHES.iter().find(|(it, _, _)| *it == action)?;
            let is_offered = |offer: &&RuleTerms| offer.scope == *reach;
            question.offers.iter().find(is_offered)?;
            (PermissionDecision::Allow, Some(*reach))
        }
    };
    Some(PermissionAnswerParams {
        id: question.id.clone(),
        decision,
        scope: reach,
        // A question that changed meanwhile is not answered.
        digest: Some(question.digest.clone()),
    })
}

/// The answer to a call in doubt.
pub(crate) fn doubt_answer(
    question: &Question,
    answer: DoubtAnswer,
    result: Option<String>,
) -> Option<AgentResolveParams> {
    let Question::Doubt(doubt) = question else {
        return None;
    };
    Some(AgentResolveParams {
        run_id: doubt.run.run_id,
        call_id: doubt.call.id.clone(),
        answer,
        result,
    })
}

/// More money for a run; the reason if the text is no amount.
pub(crate) fn money_answer(
    question: &Question,
    dollars: &str,
) -> Result<AgentAllowParams, &'static str> {
    Ok(AgentAllowParams {
        run_id: question.run(),
        micro_dollars: hob_client::amounts::parse_dollars(dollars)?,
    })
}
