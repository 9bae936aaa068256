//! Events of the daemon as the model takes them.

use crate::cards::Question;
use crate::model::News;
use crate::screens::Screen;
use hob_client::BusEvent;
use hob_wire::EventTopic;
use hob_wire::rooms::agent::{
    RunCompleted, RunInDoubt, RunPaused, RunQueued, RunServer, RunStarted, RunStep, RunTool,
    ToolPhase,
};
use hob_wire::rooms::model_files::PullProgress;
use hob_wire::rooms::permission::{PermissionAnswered, PermissionRequested};
use hob_wire::rooms::service::{ServiceInstallProgress, ServiceStatusChanged};
use hob_wire::rooms::session::{SessionCreated, SessionDeleted};

/// The topics beside blocks, of all sessions: questions are shown wherever they come from.
pub(super) const TOPICS: [&str; 15] = [
    PermissionRequested::SPEC.topic,
    PermissionAnswered::SPEC.topic,
    RunQueued::SPEC.topic,
    RunStarted::SPEC.topic,
    RunStep::SPEC.topic,
    RunTool::SPEC.topic,
    RunServer::SPEC.topic,
    RunPaused::SPEC.topic,
    RunInDoubt::SPEC.topic,
    RunCompleted::SPEC.topic,
    SessionCreated::SPEC.topic,
    SessionDeleted::SPEC.topic,
    ServiceStatusChanged::SPEC.topic,
    ServiceInstallProgress::SPEC.topic,
    PullProgress::SPEC.topic,
];

/// What an event tells the model.
pub(super) fn news(event: &BusEvent) -> Vec<News> {
    run_news(event)
        .or_else(|| question_news(event))
        .or_else(|| list_news(event))
        .unwrap_or_default()
}

fn question_news(event: &BusEvent) -> Option<Vec<News>> {
    if let Some(question) = event.read::<PermissionRequested>() {
        let question = Question::Permission(Box::new(question));
        return Some(vec![News::Asked(question)]);
    }
    if let Some(answer) = event.read::<PermissionAnswered>() {
        return Some(vec![News::Answered { id: answer.id }]);
    }
    if let Some(doubt) = event.read::<RunInDoubt>() {
        return Some(vec![News::Asked(Question::Doubt(Box::new(doubt)))]);
    }
    let paused = event.read::<RunPaused>()?;
    Some(vec![News::Asked(Question::Money(Box::new(paused)))])
}

fn run_news(event: &BusEvent) -> Option<Vec<News>> {
    if let Some(queued) = event.read::<RunQueued>() {
        return Some(vec![
            News::Queued {
                session: queued.run.session_key,
                run: queued.run.run_id,
            },
            News::ListChanged(Screen::Runs),
        ]);
    }
    if let Some(started) = event.read::<RunStarted>() {
        return Some(vec![
            News::Started {
                session: started.run.session_key,
                run: started.run.run_id,
                model: started.model,
            },
            News::ListChanged(Screen::Runs),
        ]);
    }
    if let Some(step) = event.read::<RunStep>() {
        return Some(vec![News::Step {
            session: step.run.session_key,
            run: step.run.run_id,
            step: step.step,
            input_tokens: step.usage.input_tokens,
            model: step.model,
        }]);
    }
    if let Some(tool) = event.read::<RunTool>() {
        let ended = (tool.phase == ToolPhase::End).then_some(News::CallEnded {
            run: tool.run.run_id,
            call: tool.call.id,
        });
        return Some(ended.into_iter().collect());
    }
    if let Some(server) = event.read::<RunServer>() {
        let text = if server.demo {
            format!("The demo model answers: {}", server.model)
        } else {
            format!("Asking {} on {}", server.model, server.server)
        };
        return Some(vec![News::Server {
            session: server.run.session_key,
            text,
        }]);
    }
    let completed = event.read::<RunCompleted>()?;
    Some(vec![
        News::Completed {
            session: completed.run.session_key,
            run: completed.run.run_id,
            is_success: completed.success,
            message: completed.message,
        },
        News::ListChanged(Screen::Runs),
        News::ListChanged(Screen::Costs),
        News::ListChanged(Screen::Sessions),
    ])
}

fn list_news(event: &BusEvent) -> Option<Vec<News>> {
    let topic = event.topic.as_str();
    if topic == SessionCreated::SPEC.topic || topic == SessionDeleted::SPEC.topic {
        return Some(vec![News::ListChanged(Screen::Sessions)]);
    }
    if topic == ServiceStatusChanged::SPEC.topic {
        return Some(vec![News::ListChanged(Screen::Services)]);
    }
    if let Some(it) = event.read::<ServiceInstallProgress>() {
        let text = it.message.unwrap_or_else(|| {
            let bytes = progress(it.bytes_done, it.bytes_total);
            format!(
                "{}: step {} of {}, {}{bytes}",
                it.name, it.step, it.steps, it.about
            )
        });
        return Some(vec![
            News::Progress(text),
            News::ListChanged(Screen::Services),
        ]);
    }
    let pull = event.read::<PullProgress>()?;
    let text = format!(
        "{}:{}",
        pull.name,
        progress(pull.bytes_done, pull.bytes_total)
    );
    Some(vec![News::Progress(text)])
}

fn progress(done: u64, total: u64) -> String {
    let per_cent = (done.saturating_mul(100)).checked_div(total);
    per_cent.map_or_else(String::new, |it| format!(" {it} %"))
}
