//! Refuses work with tools that the demo model would have to do.

use hob_bus::Caller;
use hob_wire::WireError;
use hob_wire::rooms::model::{List, ModelListParams};

use crate::agent::demo_limits;

/// Refuses work with grants if its model is the demo, which uses no tools. The work itself may still
/// run later with another model; who sets it up is told now.
pub(crate) async fn refuse_grants(caller: &Caller, model: Option<&str>) -> Result<(), WireError> {
    let params = ModelListParams {
        provider: None,
        names_only: true,
    };
    // Without a list of models nothing is known, and the run itself decides.
    let Ok(found) = caller.call::<List>(&params).await else {
        return Ok(());
    };
    let wanted = model.unwrap_or("default");
    let alias = found.aliases.iter().find(|it| it.alias == wanted);
    let id = match alias {
        Some(alias) => alias.models.first().map(String::as_str),
        None => Some(wanted),
    };
    let provider = id.and_then(|id| id.split_once('/')).map(|(name, _)| name);
    let mut providers = found.providers.iter();
    let demo = providers.any(|it| {
        let service = it.service.as_ref();
        Some(it.name.as_str()) == provider && service.is_some_and(|service| service.modest)
    });
    if demo {
        return Err(demo_limits::refusal(
            "The demo model uses no tools, so it can do nothing with what this allows; `hob onboard` offers a model that can.",
        ));
    }
    Ok(())
}
