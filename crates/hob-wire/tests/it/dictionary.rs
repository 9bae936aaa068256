//! All types of the wire with unique names, collected from the schemas of the catalog.
//!
//! A type that other types refer to keeps its Rust name. A type that only methods or events use
//! gets its room as a prefix unless it has it already (`JobSelector` becomes `CronJobSelector`).

use hob_wire::event::EventSpec;
use hob_wire::method::MethodSpec;
use hob_wire::rooms::daemon::StateFile;
use hob_wire::{Scope, WireError, catalog};
use schemars::{Schema, schema_for};
use serde_json::Value;
use std::collections::BTreeMap;

pub(crate) struct Dictionary {
    pub(crate) types: BTreeMap<String, Value>,
    pub(crate) methods: Vec<MethodEntry>,
    pub(crate) events: Vec<EventEntry>,
}

/// A method and the names of its types.
pub(crate) struct MethodEntry {
    pub(crate) spec: &'static MethodSpec,
    pub(crate) params: String,
    pub(crate) result: String,
}

/// An event and the name of its payload's type.
pub(crate) struct EventEntry {
    pub(crate) spec: &'static EventSpec,
    pub(crate) payload: String,
}

impl Dictionary {
    pub(crate) fn gather() -> Dictionary {
        let mut dictionary = Dictionary {
            types: BTreeMap::new(),
            methods: Vec::new(),
            events: Vec::new(),
        };
        // Definitions first: they decide which root types already have a name.
        for spec in catalog::methods() {
            dictionary.definitions((spec.params)());
            dictionary.definitions((spec.result)());
        }
        for spec in catalog::events() {
            dictionary.definitions((spec.payload)());
        }
        for schema in [
            schema_for!(WireError),
            schema_for!(Scope),
            schema_for!(StateFile),
        ] {
            dictionary.definitions(schema.clone());
            dictionary.root("", schema);
        }
        for spec in catalog::methods() {
            let entry = MethodEntry {
                spec,
                params: dictionary.root(spec.name, (spec.params)()),
                result: dictionary.root(spec.name, (spec.result)()),
            };
            dictionary.methods.push(entry);
        }
        for spec in catalog::events() {
            let payload = dictionary.root(spec.topic, (spec.payload)());
            dictionary.events.push(EventEntry { spec, payload });
        }
        dictionary
    }

    fn definitions(&mut self, schema: Schema) {
        let schema = schema.to_value();
        for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
            self.insert(name.clone(), definition.clone());
        }
    }

    /// Names the root type of a schema of `owner`, a method or a topic.
    fn root(&mut self, owner: &str, schema: Schema) -> String {
        let mut schema = schema.to_value();
        let body = schema
            .as_object_mut()
            .expect("a type's schema is an object");
        let title = body.remove("title").expect("a type has a name");
        let title = title.as_str().expect("a name is a text").to_owned();
        body.remove("$schema");
        body.remove("$defs");
        let room = capitalised(owner.split('.').next().unwrap_or_default());
        let is_named = self.types.get(&title) == Some(&schema);
        let name = if is_named || title.starts_with(&room) {
            title
        } else {
            format!("{room}{title}")
        };
        self.insert(name.clone(), schema);
        name
    }

    fn insert(&mut self, name: String, schema: Value) {
        if let Some(former) = self.types.get(&name) {
            assert_eq!(
                former, &schema,
                "two types of the wire are called {name}: rename one of them"
            );
        }
        self.types.insert(name, schema);
    }
}

fn capitalised(word: &str) -> String {
    let (first, rest) = word.split_at(word.len().min(1));
    first.to_uppercase() + rest
}

/// Returns the name of the type that a reference points to.
pub(crate) fn referred(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/$defs/")
}

/// Returns the description of a schema.
pub(crate) fn description(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_default()
}
