//! Which service is asked when nobody named one.

use super::{ServedModel, first_with_role};
use hob_wire::rooms::model::ProviderKind;
use hob_wire::rooms::service::ServiceRole;

pub(crate) fn served(service: &str, role: ServiceRole, running: bool) -> ServedModel {
    ServedModel {
        service: service.to_owned(),
        role,
        model: None,
        modest: false,
        kind: ProviderKind::Openai,
        running,
        context_tokens: None,
    }
}

#[test]
fn one_that_runs_comes_before_one_that_must_be_started() {
    let list = [
        served("see", ServiceRole::Vlm, true),
        served("cold", ServiceRole::Llm, false),
        served("warm", ServiceRole::Llm, true),
    ];
    let name =
        |list: &[ServedModel], role| first_with_role(list, role).map(|one| one.service.clone());
    assert_eq!(name(&list, ServiceRole::Llm).as_deref(), Some("warm"));
    assert_eq!(name(&list[..2], ServiceRole::Llm).as_deref(), Some("cold"));
    assert_eq!(name(&list, ServiceRole::Tts), None);
}
