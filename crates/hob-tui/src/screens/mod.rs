//! The screens beside the conversation: each a list in its folder. Pure.
//!
//! - [`Screen`] names them; [`ScreenData`] is what the daemon says for one
//! - [`ListState`] is the list on the screen: its rows, the chosen one, the filter
//! - a screen is a folder with a function that makes rows of its data

mod about;
mod costs;
mod doctor;
mod list_state;
mod models;
mod permissions;
mod runs;
mod services;
mod sessions;

pub use list_state::{ListContent, ListRow, ListState, RowAction};

use hob_wire::rooms::agent::AgentListResult;
use hob_wire::rooms::cost::CostSummary;
use hob_wire::rooms::daemon::{DaemonDoctorResult, DaemonStatus};
use hob_wire::rooms::model::ModelListResult;
use hob_wire::rooms::permission::PermissionListResult;
use hob_wire::rooms::service::ServiceListResult;
use hob_wire::rooms::session::SessionListResult;

/// A screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    Chat,
    /// The choice of a first model.
    Onboard,
    Sessions,
    Services,
    Runs,
    Costs,
    Permissions,
    Models,
    Doctor,
    About,
}

impl Screen {
    pub fn is_list(self) -> bool {
        !matches!(self, Screen::Chat | Screen::Onboard)
    }

    pub fn title(self) -> &'static str {
        match self {
            Screen::Chat => "Chat",
            Screen::Onboard => "Choose a model",
            Screen::Sessions => "Sessions",
            Screen::Services => "Services",
            Screen::Runs => "Runs",
            Screen::Costs => "Costs of the last 30 days",
            Screen::Permissions => "Permissions",
            Screen::Models => "Models",
            Screen::Doctor => "Doctor",
            Screen::About => "About",
        }
    }

    /// What the keys of the list do here.
    pub fn hint(self) -> &'static str {
        match self {
            Screen::Sessions => "enter opens · letters filter · esc back",
            Screen::Services => "tab starts or stops · letters filter · esc back",
            Screen::Models => "enter uses it here · letters filter · esc back",
            Screen::Runs => "enter opens its session · letters filter · esc back",
            _ => "letters filter · esc back",
        }
    }
}

/// What a screen lists.
#[derive(Clone, Debug)]
pub enum ScreenData {
    Sessions(SessionListResult),
    Services(ServiceListResult),
    Runs(AgentListResult),
    Costs(CostSummary),
    Permissions(PermissionListResult),
    Models(ModelListResult),
    Doctor(DaemonDoctorResult),
    About(Box<DaemonStatus>),
}

/// The rows of a screen's data.
fn content(data: &ScreenData, wall_ms: u64) -> ListContent {
    match data {
        ScreenData::Sessions(list) => sessions::content(list, wall_ms),
        ScreenData::Services(list) => services::content(list),
        ScreenData::Runs(list) => runs::content(list, wall_ms),
        ScreenData::Costs(summary) => costs::content(summary),
        ScreenData::Permissions(list) => permissions::content(list),
        ScreenData::Models(list) => models::content(list),
        ScreenData::Doctor(result) => doctor::content(result),
        ScreenData::About(status) => about::content(status, wall_ms),
    }
}

#[cfg(test)]
#[path = "../screens_tests.rs"]
mod tests;
