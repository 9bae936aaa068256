//! Fake services: `llm`, which has failed, and `tts`, which starts.

use crate::house::House;
use hob_bus::{Bus, EventLog, NewEvent, Room};
use hob_wire::rooms::service::{
    self, LastExit, ManagedService, ServiceLog, ServiceLogLine, ServiceLogPayload, ServiceSelector,
    ServiceStartParams, ServiceState, ServiceStatus, ServiceStatusChanged,
};
use hob_wire::rooms::tool::OutputStream;
use hob_wire::{ErrorCode, EventTopic, WireError};
use std::sync::{Arc, Mutex};

pub(crate) struct Services {
    bus: Bus,
    log: Arc<dyn EventLog>,
    pub(crate) started: Mutex<Vec<String>>,
}

impl Services {
    pub(crate) fn move_in(house: &House) -> Arc<Services> {
        let services = Arc::new(Services {
            bus: house.bus.clone(),
            log: house.store.event_log(),
            started: Mutex::default(),
        });
        let (listing, asking, starting) = (services.clone(), services.clone(), services.clone());
        let room = Room::new("services")
            .method::<service::List, _, _>(move |_, _| {
                let services = vec![shown(failed()), shown(listing.speech())];
                async move {
                    Ok(service::ServiceListResult {
                        services,
                        problems: Vec::new(),
                        broken: Vec::new(),
                    })
                }
            })
            .method::<service::Status, _, _>(move |_, params: ServiceSelector| {
                let status = asking.named(&params.name);
                async move { status }
            })
            .method::<service::Start, _, _>(move |_, params: ServiceStartParams| {
                let services = Arc::clone(&starting);
                async move {
                    services.named(&params.name)?;
                    services.started.lock().unwrap().push(params.name);
                    let status = services.speech();
                    services.tell(&status).await;
                    Ok(status)
                }
            })
            .event::<ServiceStatusChanged>()
            .event::<ServiceLog>();
        house.bus.serve(room).unwrap();
        services
    }

    pub(crate) fn print(&self, line: &str) {
        let payload = ServiceLogPayload {
            name: "tts".to_owned(),
            line: ServiceLogLine {
                number: 1,
                at: 1,
                stream: OutputStream::Stdout,
                text: line.to_owned(),
            },
        };
        let emitter = self.bus.emitter("services");
        emitter.emit::<ServiceLog>(None, &payload);
    }

    fn named(&self, name: &str) -> Result<ServiceStatus, WireError> {
        match name {
            "tts" | "kokomo" => Ok(self.speech()),
            "llm" | "mlx" => Ok(failed()),
            _ => Err(WireError::new(
                ErrorCode::NotFound,
                "There is no such service.",
            )),
        }
    }

    fn speech(&self) -> ServiceStatus {
        let is_running = !self.started.lock().unwrap().is_empty();
        ServiceStatus {
            name: "tts".to_owned(),
            state: if is_running {
                ServiceState::Running
            } else {
                ServiceState::Stopped
            },
            pid: is_running.then_some(7),
            port: None,
            detail: None,
            last_exit: None,
            restarts: 0,
        }
    }

    async fn tell(&self, status: &ServiceStatus) {
        let event = NewEvent {
            source: "services".into(),
            topic: ServiceStatusChanged::SPEC.topic.into(),
            session: None,
            payload: Some(serde_json::to_vec(status).unwrap().into()),
        };
        self.log.append(event).await.unwrap();
    }
}

fn failed() -> ServiceStatus {
    ServiceStatus {
        name: "llm".to_owned(),
        state: ServiceState::Failed,
        pid: None,
        port: None,
        detail: Some("It ended too often.".to_owned()),
        last_exit: Some(LastExit::Code(3)),
        restarts: 10,
    }
}

fn shown(status: ServiceStatus) -> ManagedService {
    ManagedService {
        status,
        about: String::new(),
        role: None,
        installed: true,
        missing: None,
        installable: false,
        autostart: false,
        adopted: false,
        aliases: Vec::new(),
        needs: Vec::new(),
        file: None,
        licence: None,
        installation: None,
    }
}
