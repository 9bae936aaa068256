//! The aliases, the models of the providers, and providers that cannot be used. Pure.

use super::{ListContent, ListRow, RowAction};
use crate::text::{Role, count, dollars};
use hob_wire::rooms::model::ModelListResult;

pub(super) fn content(list: &ModelListResult) -> ListContent {
    let aliases = list.aliases.iter().map(|alias| {
        let cells = vec![
            (alias.alias.clone(), Role::Accent),
            (alias.models.join(", "), Role::Plain),
        ];
        let action = RowAction::UseModel(alias.alias.clone());
        ListRow::new(format!("alias/{}", alias.alias), cells).doing(action)
    });
    let models = list.models.iter().map(|model| {
        let window = model
            .context_tokens
            .map(|it| format!("{} tokens", count(it)));
        let price = model.price.map(|price| {
            let (input, output) = (dollars(price.input), dollars(price.output));
            format!("{input} in, {output} out for a million")
        });
        let about: Vec<String> = window.into_iter().chain(price).collect();
        let cells = vec![
            (model.id.clone(), Role::Plain),
            (about.join(" · "), Role::Quiet),
        ];
        ListRow::new(model.id.clone(), cells).doing(RowAction::UseModel(model.id.clone()))
    });
    let away = list.providers.iter().filter(|provider| !provider.ready);
    let away = away.map(|provider| {
        let message = provider.message.clone().unwrap_or_default();
        let cells = vec![(provider.name.clone(), Role::Quiet), (message, Role::Quiet)];
        ListRow::new(format!("provider/{}", provider.name), cells)
    });
    ListContent {
        heads: vec!["MODEL", "ABOUT"],
        rows: aliases.chain(models).chain(away).collect(),
        notes: vec!["hob model set default NAME changes the default; hob onboard adds one.".into()],
        empty: "No model is known.",
    }
}
