//! Carries requests to the daemon and brings replies back as events.

use crate::cards::Question;
use crate::model::{Event, Failure, Reply, Request};
use crate::screens::{Screen, ScreenData};
use futures_util::future::BoxFuture;
use hob_client::{Client, ClientError};
use hob_wire::rooms::agent::{
    self, Abort, AgentListParams, Allow, CallView, Resolve, Run, RunInDoubtPayload,
    RunPausedPayload, RunRef, RunSelector, RunState, RunView, Status, ToolCallState,
};
use hob_wire::rooms::cost::{CostSummaryParams, Summary};
use hob_wire::rooms::daemon::{self, DaemonDoctorParams, DaemonStatusParams};
use hob_wire::rooms::model::{self, ModelListParams};
use hob_wire::rooms::onboard::{Choose, OnboardOptionsParams, Options};
use hob_wire::rooms::permission::{
    self, Answer, Attend, Pending, PermissionAttendParams, PermissionListParams,
    PermissionPendingParams,
};
use hob_wire::rooms::service::{self, ServiceListParams, ServiceSelector, ServiceStartParams};
use hob_wire::rooms::session::{self, SessionForkParams, SessionListParams};
use hob_wire::{ErrorCode, Method};

/// The `reason` in the details of an error when no model is configured.
const NO_MODEL: &str = "no-model";
/// The days of the ledger that make the cost of a session.
const SESSION_COST_DAYS: u32 = 366;
/// The rows that a list screen reads.
const LIST_ROWS: u32 = 500;
/// The runs that a list screen reads.
const RUN_ROWS: u32 = 100;

/// Carries out a request.
pub(super) fn call(client: &Client, request: Request) -> BoxFuture<'static, Event> {
    let client = client.clone();
    Box::pin(async move { Event::Reply(Box::new(reply(&client, request).await)) })
}

async fn reply(client: &Client, request: Request) -> Reply {
    match request {
        Request::Attend => {
            // Without the scope to answer, questions keep their deadline and show it.
            let _ = client
                .call_with_retry::<Attend>(&PermissionAttendParams {})
                .await;
            Reply::Nothing
        }
        Request::Run(params) => {
            let message = params.task.clone();
            let result = send::<Run>(client, &params).await;
            let result = result.map(|reply| reply.run_id);
            Reply::Run {
                message,
                was_working: params.mode.is_some(),
                result,
            }
        }
        Request::Stop(session) => Reply::Stopped(stop(client, of_session(session)).await),
        Request::StopRun(run) => {
            let selector = RunSelector {
                run_id: Some(run),
                session_key: None,
            };
            Reply::Stopped(stop(client, selector).await)
        }
        Request::Answer(question, params) => {
            let result = send::<Answer>(client, &params).await.map(drop);
            Reply::Answered { question, result }
        }
        Request::Resolve(question, params) => {
            let result = send::<Resolve>(client, &params).await.map(drop);
            Reply::Answered { question, result }
        }
        Request::Allow(question, params) => {
            let result = send::<Allow>(client, &params).await.map(drop);
            Reply::Answered { question, result }
        }
        Request::Questions => Reply::Questions(open_questions(client).await),
        Request::RunStatus(session) => {
            let view = client
                .call_with_retry::<Status>(&of_session(session.clone()))
                .await;
            Reply::Status {
                session,
                view: view.ok().map(Box::new),
            }
        }
        Request::SessionCost(session) => {
            let params = CostSummaryParams {
                days: Some(SESSION_COST_DAYS),
                session_key: Some(session.clone()),
            };
            let summary = client.call_with_retry::<Summary>(&params).await.ok();
            Reply::Cost { session, summary }
        }
        Request::Screen(screen) => {
            let data = screen_data(client, screen).await.map(Box::new);
            Reply::Screen { screen, data }
        }
        Request::Fork(session) => {
            let params = SessionForkParams {
                session_key: session,
                at: None,
                new_key: None,
                label: None,
            };
            let forked = send::<session::Fork>(client, &params).await;
            Reply::Forked(forked.map(|forked| forked.session.session_key))
        }
        Request::StartService(name) => {
            let params = ServiceStartParams {
                name: name.clone(),
                wait: true,
            };
            let started = send::<service::Start>(client, &params).await;
            Reply::Service(started.map(|_| format!("{name} runs.")))
        }
        Request::StopService(name) => {
            let params = ServiceSelector { name: name.clone() };
            let stopped = send::<service::Stop>(client, &params).await;
            Reply::Service(stopped.map(|_| format!("{name} is stopped.")))
        }
        Request::OnboardOptions { state_only } => Reply::Options {
            is_state_only: state_only,
            result: send::<Options>(client, &OnboardOptionsParams { state_only }).await,
        },
        Request::OnboardChoose(params) => Reply::Chosen(send::<Choose>(client, &params).await),
    }
}

async fn send<M: Method>(client: &Client, params: &M::Params) -> Result<M::Result, Failure> {
    client
        .call_with_retry::<M>(params)
        .await
        .map_err(|error| failure(&error))
}

fn of_session(session: String) -> RunSelector {
    RunSelector {
        session_key: Some(session),
        run_id: None,
    }
}

async fn stop(client: &Client, selector: RunSelector) -> Result<agent::AgentAbortResult, Failure> {
    match client.call_with_retry::<Abort>(&selector).await {
        // A session that does not exist yet has no run.
        Err(error) if error.code() == Some(ErrorCode::NotFound) => {
            Ok(agent::AgentAbortResult { runs: Vec::new() })
        }
        other => other.map_err(|error| failure(&error)),
    }
}

fn failure(error: &ClientError) -> Failure {
    let details = match error {
        ClientError::Wire(error) => error.details.as_ref(),
        _ => None,
    };
    Failure {
        sentence: error.to_string(),
        lacks_model: details.is_some_and(|details| details["reason"] == NO_MODEL),
    }
}

/// Every question without an answer, of all sessions.
async fn open_questions(client: &Client) -> Result<Vec<Question>, Failure> {
    let pending = send::<Pending>(client, &PermissionPendingParams::default()).await?;
    let permissions = pending.questions.into_iter();
    let mut out: Vec<Question> = permissions
        .map(|question| Question::Permission(Box::new(question)))
        .collect();
    for state in [RunState::InDoubt, RunState::Paused] {
        let params = AgentListParams {
            state: Some(state),
            ..AgentListParams::default()
        };
        let listed = send::<agent::List>(client, &params).await?;
        out.extend(listed.runs.iter().flat_map(questions_of_run));
    }
    Ok(out)
}

fn questions_of_run(view: &RunView) -> Vec<Question> {
    let run = RunRef {
        session_key: view.session_key.clone(),
        run_id: view.run_id,
    };
    if view.state == RunState::Paused {
        let message = view.message.clone();
        return vec![Question::Money(Box::new(RunPausedPayload {
            message: message
                .unwrap_or_else(|| "A budget does not cover the run's next call.".to_owned()),
            run,
        }))];
    }
    let is_doubtful = |call: &&CallView| call.state == ToolCallState::InDoubt;
    let doubts = view.calls.iter().filter(is_doubtful).map(|call| {
        Question::Doubt(Box::new(RunInDoubtPayload {
            run: run.clone(),
            step: call.step,
            call: call.call.clone(),
            began_at: view.started_at.unwrap_or(view.queued_at),
            known: "It had started when the daemon ended; the time is the start of its run."
                .to_owned(),
        }))
    });
    doubts.collect()
}

async fn screen_data(client: &Client, screen: Screen) -> Result<ScreenData, Failure> {
    Ok(match screen {
        Screen::Sessions | Screen::Chat | Screen::Onboard => {
            let params = SessionListParams {
                limit: Some(LIST_ROWS),
                ..SessionListParams::default()
            };
            ScreenData::Sessions(send::<session::List>(client, &params).await?)
        }
        Screen::Services => {
            let params = ServiceListParams::default();
            ScreenData::Services(send::<service::List>(client, &params).await?)
        }
        Screen::Runs => {
            let params = AgentListParams {
                limit: Some(RUN_ROWS),
                ..AgentListParams::default()
            };
            ScreenData::Runs(send::<agent::List>(client, &params).await?)
        }
        Screen::Costs => {
            let params = CostSummaryParams::default();
            ScreenData::Costs(send::<Summary>(client, &params).await?)
        }
        Screen::Permissions => {
            let params = PermissionListParams {
                limit: Some(LIST_ROWS),
                ..PermissionListParams::default()
            };
            ScreenData::Permissions(send::<permission::List>(client, &params).await?)
        }
        Screen::Models => {
            let params = ModelListParams {
                provider: None,
                names_only: false,
            };
            ScreenData::Models(send::<model::List>(client, &params).await?)
        }
        Screen::Doctor => {
            let params = DaemonDoctorParams::default();
            ScreenData::Doctor(send::<daemon::Doctor>(client, &params).await?)
        }
        Screen::About => {
            let status = send::<daemon::Status>(client, &DaemonStatusParams::default()).await?;
            ScreenData::About(Box::new(status))
        }
    })
}
