//! The configured providers and aliases. A catalog is rebuilt when the settings change, which is
//! cheap.

use crate::candidate::{ModelCallDeps, ModelCandidate, ReadyProvider, known_model, price_of};
use crate::dialect::{self, ProviderModel};
use crate::error::{ModelError, ResolveError};
use crate::exchange::LIST_BYTES_MAX;
use crate::keys::KeySource;
use crate::providers::ProviderRow;
use crate::served_model::{self, ServedModel, ServiceResolver};
use crate::settings::{self, ALIASES, ProviderConfig};
use futures_util::future::join_all;
use hob_kit::settings::Settings;
use hob_net::HttpClient;
use hob_wire::rooms::model;
use hob_wire::rooms::service::ServiceRole;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The silence limit of a list request. A list is quick, so a slower provider counts as down.
const LIST_SILENCE_MAX: Duration = Duration::from_secs(15);
const LIST_PAGES_MAX: usize = 10;
const LIST_MODELS_MAX: usize = 5_000;

/// The configured providers and aliases.
#[derive(Clone)]
pub struct ModelCatalog {
    providers: Vec<Arc<ProviderConfig>>,
    aliases: Vec<model::ModelAlias>,
    served: Arc<Vec<ServedModel>>,
    deps: ModelCallDeps,
}

/// The inputs of a [`ModelCatalog`] besides the settings.
#[derive(Clone)]
pub struct ModelSources {
    pub http: HttpClient,
    pub keys: Arc<dyn KeySource>,
    pub services: Arc<dyn ServiceResolver>,
    /// The services that are ready now.
    pub served: Arc<Vec<ServedModel>>,
}

/// The models of the providers, and the errors of those that could not list theirs.
#[derive(Clone, Debug, Default)]
pub struct ModelListing {
    pub models: Vec<model::ModelInfo>,
    /// Provider and problem.
    pub problems: Vec<(String, ModelError)>,
}

impl ModelCatalog {
    pub fn new(settings: &Settings, sources: ModelSources) -> ModelCatalog {
        let ModelSources {
            http,
            keys,
            services,
            served,
        } = sources;
        let has_key = |variable: &str| keys.key(variable).is_some();
        let mut providers = settings::providers(settings, &has_key);
        let aliases = ALIASES
            .iter()
            .map(|alias| model::ModelAlias {
                alias: (*alias).to_owned(),
                models: match settings::alias(settings, alias) {
                    named if named.is_empty() => suggested(&providers, &served, alias, &has_key),
                    named => named,
                },
            })
            .collect();
        // A provider the user configured under a service's name takes precedence over the service.
        for one in served.iter() {
            if !providers.iter().any(|it| it.name == one.service) {
                providers.push(one.to_provider_config());
            }
        }
        // Looking up a key registers it with the log mask. All are looked up here, so that no key can
        // appear in the log before its first use.
        for variable in providers.iter().filter_map(|it| it.key_env.as_deref()) {
            let _ = keys.key(variable);
        }
        let timeouts = settings::timeouts(settings);
        ModelCatalog {
            providers: providers.into_iter().map(Arc::new).collect(),
            aliases,
            served,
            deps: ModelCallDeps {
                http,
                keys,
                services,
                timeouts,
            },
        }
    }

    /// Resolves an alias or `provider/model` to models in the order they are tried. `None` means the
    /// alias `default`.
    pub fn resolve(&self, wanted: Option<&str>) -> Result<Vec<ModelCandidate>, ResolveError> {
        let wanted = wanted.unwrap_or("default");
        let Some(alias) = self.aliases.iter().find(|alias| alias.alias == wanted) else {
            return Ok(vec![self.candidate(wanted)?]);
        };
        if alias.models.is_empty() {
            // An unset alias falls back to `default`.
            return match wanted {
                "default" => Err(ResolveError::NothingConfigured),
                _ => self.resolve(None),
            };
        }
        alias.models.iter().map(|id| self.candidate(id)).collect()
    }

    /// As [`ModelCatalog::resolve`], for a conversation that may hold pictures. If it does and no model was named,
    /// a running vision service comes first.
    pub fn resolve_for(
        &self,
        wanted: Option<&str>,
        pictures: bool,
    ) -> Result<Vec<ModelCandidate>, ResolveError> {
        let seeing = served_model::first_with_role(&self.served, ServiceRole::Vlm);
        let asked_first = |one: &&ServedModel| pictures && one.running && wanted.is_none();
        match seeing.filter(asked_first) {
            None => self.resolve(wanted),
            Some(seeing) => {
                let mut candidates = vec![self.candidate(&seeing.id())?];
                // The vision service can answer alone where no other model is configured.
                candidates.extend(self.resolve(None).unwrap_or_default());
                Ok(candidates)
            }
        }
    }

    fn candidate(&self, id: &str) -> Result<ModelCandidate, ResolveError> {
        let unknown = || ResolveError::UnknownName {
            wanted: id.chars().take(200).collect(),
            aliases: ALIASES.join(", "),
        };
        let (name, model) = id.split_once('/').ok_or_else(unknown)?;
        if model.is_empty() {
            return Err(unknown());
        }
        let provider = self.provider(name).ok_or_else(|| {
            let known = self.providers.iter().map(|provider| provider.name.as_str());
            ResolveError::UnknownProvider {
                provider: name.chars().take(64).collect(),
                known: match known.collect::<Vec<_>>().join(", ") {
                    none if none.is_empty() => "none".to_owned(),
                    known => known,
                },
            }
        })?;
        Ok(ModelCandidate {
            provider: Arc::clone(provider),
            model: model.to_owned(),
            deps: self.deps.clone(),
        })
    }

    fn provider(&self, name: &str) -> Option<&Arc<ProviderConfig>> {
        self.providers.iter().find(|provider| provider.name == name)
    }

    /// The configured providers.
    pub fn providers(&self) -> Vec<model::ProviderInfo> {
        self.providers
            .iter()
            .map(|provider| {
                let missing = self.deps.key(provider).err();
                model::ProviderInfo {
                    name: provider.name.clone(),
                    kind: provider.kind,
                    url: provider.url.clone(),
                    key_env: provider.key_env.clone(),
                    ready: missing.is_none(),
                    message: missing.map(|error| error.message),
                    service: provider.served.as_ref().map(ServedModel::to_wire),
                }
            })
            .collect()
    }

    /// Every alias with its models; empty if none is set and none suggested.
    pub fn aliases(&self) -> Vec<model::ModelAlias> {
        self.aliases.clone()
    }

    /// Lists the models of one provider, or of all.
    pub async fn models(&self, provider: Option<&str>) -> ModelListing {
        let mut listing = ModelListing::default();
        let wanted = |one: &&Arc<ProviderConfig>| provider.is_none_or(|name| one.name == name);
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

    async fn list(&self, provider: &ProviderConfig) -> Result<Vec<model::ModelInfo>, ModelError> {
        if let Some(served) = &provider.served
            && !served.running
        {
            // Listing must not start a service.
            let known = ProviderModel {
                name: served.model_name().to_owned(),
                ..ProviderModel::default()
            };
            return Ok(vec![listed(provider, known)]);
        }
        self.pages(&self.deps.open(provider).await?).await
    }

    async fn pages(&self, open: &ReadyProvider<'_>) -> Result<Vec<model::ModelInfo>, ModelError> {
        let provider = &*open.provider;
        let mut exchange = self.deps.exchange(open, "");
        exchange.timeouts.silence = exchange.timeouts.silence.min(LIST_SILENCE_MAX);
        let seal = |error: ModelError| open.sanitize(error);
        let dialect = dialect::for_kind(provider.kind);
        let mut path = dialect.models_path().to_owned();
        let mut models = Vec::new();
        for _ in 0..LIST_PAGES_MAX {
            let body = exchange.fetch(&path, LIST_BYTES_MAX).await.map_err(seal)?;
            let page = dialect::parse_json(&body).ok();
            let page = page.and_then(|body| dialect.parse_models(&body));
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

impl fmt::Debug for ModelSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelSources")
            .field("served", &self.served)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ModelCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelCatalog")
            .field("providers", &self.providers)
            .field("aliases", &self.aliases)
            .finish_non_exhaustive()
    }
}

fn listed(provider: &ProviderConfig, listed: ProviderModel) -> model::ModelInfo {
    let known = known_model(provider, &listed.name);
    let known_tokens = known.map(|known| known.context_tokens);
    model::ModelInfo {
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

/// The default of an unset alias: the suggested model of the first built-in provider that has its
/// key, else the model of a local service.
fn suggested(
    providers: &[ProviderConfig],
    served: &[ServedModel],
    alias: &str,
    has_key: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let is_ready = |provider: &&ProviderConfig| provider.key_env.as_deref().is_none_or(has_key);
    let of = |row: &ProviderRow| match alias {
        "default" => row.suggested.default,
        "fast" => row.suggested.fast,
        "smart" => row.suggested.smart,
        _ => "",
    };
    let rows = crate::providers::ROWS.iter();
    let mut found = rows.filter_map(|row| {
        let provider = providers
            .iter()
            .filter(is_ready)
            .find(|provider| provider.name == row.name)?;
        let model = of(row);
        (!model.is_empty()).then(|| format!("{}/{model}", provider.name))
    });
    let found = found.next();
    let local = || match alias {
        "default" | "local" => {
            served_model::first_with_role(served, ServiceRole::Llm).map(ServedModel::id)
        }
        _ => None,
    };
    found.or_else(local).into_iter().collect()
}

#[cfg(test)]
#[path = "model_catalog_tests.rs"]
mod tests;
