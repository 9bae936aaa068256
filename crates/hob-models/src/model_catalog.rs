//! Every provider and alias that is configured. It is made anew when the settings change; making
//! one costs nothing.

use crate::candidate::{Candidate, Desk, Open, known, price_of};
use crate::dialect::{self, Listed};
use crate::error::{BookError, ModelError};
use crate::exchange::LIST_BYTES_MAX;
use crate::keys::KeyDoor;
use crate::providers::Row;
use crate::served::{self, Served, ServiceDoor};
use crate::settings::{self, ALIASES, Provider};
use futures_util::future::join_all;
use hob_kit::settings::Settings;
use hob_net::Http;
use hob_wire::rooms::model;
use hob_wire::rooms::service::ServiceRole;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A list is short work: who is silent that long is not there.
const LIST_SILENCE_MAX: Duration = Duration::from_secs(15);
const LIST_PAGES_MAX: usize = 10;
const LIST_MODELS_MAX: usize = 5_000;

/// The configured providers and aliases.
#[derive(Clone)]
pub struct Book {
    providers: Vec<Arc<Provider>>,
    aliases: Vec<model::Alias>,
    served: Arc<Vec<Served>>,
    desk: Desk,
}

/// What a book is made of beside the settings.
#[derive(Clone)]
pub struct Sources {
    pub http: Http,
    pub keys: Arc<dyn KeyDoor>,
    pub services: Arc<dyn ServiceDoor>,
    /// The services that can be asked now.
    pub served: Arc<Vec<Served>>,
}

/// The models of some providers, and what kept others from listing theirs.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    pub models: Vec<model::Model>,
    /// Provider and problem.
    pub problems: Vec<(String, ModelError)>,
}

impl Book {
    pub fn new(settings: &Settings, sources: Sources) -> Book {
        let Sources {
            http,
            keys,
            services,
            served,
        } = sources;
        let has_key = |variable: &str| keys.key(variable).is_some();
        let mut providers = settings::providers(settings, &has_key);
        let aliases = ALIASES
            .iter()
            .map(|alias| model::Alias {
                alias: (*alias).to_owned(),
                models: match settings::alias(settings, alias) {
                    named if named.is_empty() => suggested(&providers, &served, alias),
                    named => named,
                },
            })
            .collect();
        // What a person configured under a service's name is what they mean by it.
        for one in served.iter() {
            if !providers.iter().any(|it| it.name == one.service) {
                providers.push(one.provider());
            }
        }
        // A key is known to the mask once it was asked for; so every key is, before the first prompt.
        for variable in providers.iter().filter_map(|it| it.key_env.as_deref()) {
            let _ = keys.key(variable);
        }
        let timeouts = settings::timeouts(settings);
        Book {
            providers: providers.into_iter().map(Arc::new).collect(),
            aliases,
            served,
            desk: Desk {
                http,
                keys,
                services,
                timeouts,
            },
        }
    }

    /// The models behind a name, in the order they are tried: an alias, or `provider/model`. No
    /// name means the alias `default`.
    pub fn resolve(&self, wanted: Option<&str>) -> Result<Vec<Candidate>, BookError> {
        let wanted = wanted.unwrap_or("default");
        let Some(alias) = self.aliases.iter().find(|alias| alias.alias == wanted) else {
            return Ok(vec![self.candidate(wanted)?]);
        };
        if alias.models.is_empty() {
            // An alias nobody set means what the default means.
            return match wanted {
                "default" => Err(BookError::NothingConfigured),
                _ => self.resolve(None),
            };
        }
        alias.models.iter().map(|id| self.candidate(id)).collect()
    }

    /// As [`Book::resolve`], for a conversation that may hold pictures: of those a running service
    /// that sees is asked first, unless a model was named.
    pub fn resolve_for(
        &self,
        wanted: Option<&str>,
        pictures: bool,
    ) -> Result<Vec<Candidate>, BookError> {
        let seeing = served::first(&self.served, ServiceRole::Vlm);
        let asked_first = |one: &&Served| pictures && one.running && wanted.is_none();
        match seeing.filter(asked_first) {
            None => self.resolve(wanted),
            Some(seeing) => {
                let mut candidates = vec![self.candidate(&seeing.id())?];
                candidates.extend(self.resolve(None).unwrap_or_default());
                Ok(candidates)
            }
        }
    }

    fn candidate(&self, id: &str) -> Result<Candidate, BookError> {
        let unknown = || BookError::UnknownName {
            wanted: id.chars().take(200).collect(),
            aliases: ALIASES.join(", "),
        };
        let (name, model) = id.split_once('/').ok_or_else(unknown)?;
        if model.is_empty() {
            return Err(unknown());
        }
        let provider = self.provider(name).ok_or_else(|| {
            let known = self.providers.iter().map(|provider| provider.name.as_str());
            BookError::UnknownProvider {
                provider: name.chars().take(64).collect(),
                known: match known.collect::<Vec<_>>().join(", ") {
                    none if none.is_empty() => "none".to_owned(),
                    known => known,
                },
            }
        })?;
        Ok(Candidate {
            provider: Arc::clone(provider),
            model: model.to_owned(),
            desk: self.desk.clone(),
        })
    }

    fn provider(&self, name: &str) -> Option<&Arc<Provider>> {
        self.providers.iter().find(|provider| provider.name == name)
    }

    /// The configured providers.
    pub fn providers(&self) -> Vec<model::Provider> {
        self.providers
            .iter()
            .map(|provider| {
                let missing = self.desk.key(provider).err();
                model::Provider {
                    name: provider.name.clone(),
                    kind: provider.kind,
                    url: provider.url.clone(),
                    key_env: provider.key_env.clone(),
                    ready: missing.is_none(),
                    message: missing.map(|error| error.message),
                    service: provider.served.as_ref().map(Served::shown),
                }
            })
            .collect()
    }

    /// Every alias and the models it stands for; none where nothing is set nor suggests itself.
    pub fn aliases(&self) -> Vec<model::Alias> {
        self.aliases.clone()
    }

    /// Asks one provider, or all of them, for their models.
    pub async fn models(&self, provider: Option<&str>) -> Listing {
        let mut listing = Listing::default();
        let wanted = |one: &&Arc<Provider>| provider.is_none_or(|name| one.name == name);
        let providers = self.providers.iter().filter(wanted);
        let asked = providers.map(|one| async move { (one, self.list(one).await) });
        for (provider, answered) in join_all(asked).await {
            match answered {
                Ok(models) => listing.models.extend(models),
                Err(error) => listing.problems.push((provider.name.clone(), error)),
            }
        }
        listing
    }

    async fn list(&self, provider: &Provider) -> Result<Vec<model::Model>, ModelError> {
        if let Some(served) = &provider.served
            && !served.running
        {
            // Nothing is started for the sake of a list.
            let known = Listed {
                name: served.model_name().to_owned(),
                ..Listed::default()
            };
            return Ok(vec![listed(provider, known)]);
        }
        self.pages(&self.desk.open(provider).await?).await
    }

    async fn pages(&self, open: &Open<'_>) -> Result<Vec<model::Model>, ModelError> {
        let provider = &*open.provider;
        let mut exchange = self.desk.exchange(open, "");
        exchange.timeouts.silence = exchange.timeouts.silence.min(LIST_SILENCE_MAX);
        let seal = |error: ModelError| open.seal(error);
        let dialect = dialect::of(provider.kind);
        let mut path = dialect.list_path().to_owned();
        let mut models = Vec::new();
        for _ in 0..LIST_PAGES_MAX {
            let body = exchange.fetch(&path, LIST_BYTES_MAX).await.map_err(seal)?;
            let page = dialect::json(&body).ok();
            let page = page.and_then(|body| dialect.read_list(&body));
            let page = page
                .ok_or_else(|| seal(ModelError::protocol("Its list of models cannot be read.")))?;
            models.extend(page.models.into_iter().map(|one| listed(provider, one)));
            models.truncate(LIST_MODELS_MAX);
            match page.next {
                Some(next) if models.len() < LIST_MODELS_MAX => path = next,
                _ => break,
            }
        }
        Ok(models)
    }
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources")
            .field("served", &self.served)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Book")
            .field("providers", &self.providers)
            .field("aliases", &self.aliases)
            .finish_non_exhaustive()
    }
}

fn listed(provider: &Provider, listed: Listed) -> model::Model {
    let known = known(provider, &listed.name);
    let known_tokens = known.map(|known| known.context_tokens);
    model::Model {
        id: format!("{}/{}", provider.name, listed.name),
        provider: provider.name.clone(),
        context_tokens: provider
            .context_tokens
            .or(listed.context_tokens)
            .or(known_tokens),
        price: price_of(provider, &listed.name).or(listed.price),
        name: listed.name,
    }
}

/// What an alias stands for when the person set none: a model of the first provider of the table
/// that is configured and has an obvious one, else that of a local service.
fn suggested(providers: &[Provider], served: &[Served], alias: &str) -> Vec<String> {
    let of = |row: &Row| match alias {
        "default" => row.suggested.default,
        "fast" => row.suggested.fast,
        "smart" => row.suggested.smart,
        _ => "",
    };
    let rows = crate::providers::ROWS.iter();
    let mut found = rows.filter_map(|row| {
        let provider = providers
            .iter()
            .find(|provider| provider.name == row.name)?;
        let model = of(row);
        (!model.is_empty()).then(|| format!("{}/{model}", provider.name))
    });
    let found = found.next();
    let local = || match alias {
        "default" | "local" => served::first(served, ServiceRole::Llm).map(Served::id),
        _ => None,
    };
    found.or_else(local).into_iter().collect()
}

#[cfg(test)]
#[path = "book_tests.rs"]
mod tests;
