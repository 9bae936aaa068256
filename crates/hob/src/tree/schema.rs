//! Reads the params of a method from their JSON Schema, as command line fields.

use hob_wire::MethodSpec;
use hob_wire::method::CliExposure;
use serde_json::{Map, Value};

/// One param of a method.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamField {
    /// The name on the wire.
    pub name: String,
    pub kind: ParamKind,
    pub required: bool,
    /// Its place among the positional arguments, if it is one.
    pub position: Option<usize>,
    pub help: String,
    /// A value to show in examples, if the schema gives one.
    pub example: Option<String>,
}

/// The kind of a param's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamKind {
    Text,
    /// A text where the wire also accepts a richer form; `-` reads it from stdin.
    Prose,
    Integer,
    Number,
    Bool,
    Choice(Vec<String>),
    /// A list of texts.
    Texts,
    /// Anything else, written as JSON.
    Json,
}

/// The fields of a method, positional ones first.
pub fn fields(spec: &MethodSpec) -> Vec<ParamField> {
    let positions = match spec.cli {
        CliExposure::Verb(names) => names,
        CliExposure::Hidden => &[],
    };
    let schema = (spec.params)().to_value();
    let root = SchemaRoot(&schema);
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map_or_else(Vec::new, |names| {
            names.iter().filter_map(Value::as_str).collect()
        });
    let properties = schema.get("properties").and_then(Value::as_object);
    let empty = Map::new();
    let mut fields: Vec<ParamField> = properties
        .unwrap_or(&empty)
        .iter()
        .map(|(name, property)| ParamField {
            name: name.clone(),
            kind: root.kind(property),
            required: required.contains(&name.as_str()),
            position: positions.iter().position(|position| position == name),
            help: root.help(property),
            example: example(property),
        })
        .collect();
    fields.sort_by_key(|field| field.position.unwrap_or(usize::MAX));
    fields
}

/// The schema document that `$ref`s point into.
struct SchemaRoot<'a>(&'a Value);

impl<'a> SchemaRoot<'a> {
    fn resolve(&self, schema: &'a Value) -> &'a Value {
        let target = schema.get("$ref").and_then(Value::as_str);
        let pointer = target.and_then(|target| target.strip_prefix('#'));
        pointer
            .and_then(|pointer| self.0.pointer(pointer))
            .unwrap_or(schema)
    }

    /// The alternatives of a schema without `null`.
    fn forms(&self, schema: &'a Value) -> Vec<&'a Value> {
        let schema = self.resolve(schema);
        let union = schema.get("anyOf").or_else(|| schema.get("oneOf"));
        let Some(union) = union.and_then(Value::as_array) else {
            return vec![schema];
        };
        let forms = union.iter().flat_map(|form| self.forms(form));
        forms
            .filter(|form| form.get("type").and_then(Value::as_str) != Some("null"))
            .collect()
    }

    fn kind(&self, schema: &'a Value) -> ParamKind {
        let forms = self.forms(schema);
        if let Some(choices) = choices(&forms) {
            return ParamKind::Choice(choices);
        }
        match forms[..] {
            [form] => self.single_kind(form),
            _ if forms.iter().any(|form| type_of(form) == Some("string")) => ParamKind::Prose,
            _ => ParamKind::Json,
        }
    }

    fn single_kind(&self, form: &'a Value) -> ParamKind {
        match type_of(form) {
            Some("string") => ParamKind::Text,
            Some("integer") => ParamKind::Integer,
            Some("number") => ParamKind::Number,
            Some("boolean") => ParamKind::Bool,
            Some("array") => {
                let item = form.get("items").map(|item| self.resolve(item));
                match item.and_then(type_of) {
                    Some("string") => ParamKind::Texts,
                    _ => ParamKind::Json,
                }
            }
            _ => ParamKind::Json,
        }
    }

    /// The description of the field, else of its type, which is more general.
    fn help(&self, schema: &'a Value) -> String {
        let words = |schema: &'a Value| schema.get("description").and_then(Value::as_str);
        let union = schema.get("anyOf").and_then(Value::as_array);
        let types = std::iter::once(schema).chain(union.into_iter().flatten());
        let mut types = types.map(|form| self.resolve(form));
        let text = words(schema).or_else(|| types.find_map(words));
        text.unwrap_or_default().replace('\n', " ")
    }
}

/// The type of a form, without `null`.
fn type_of(form: &Value) -> Option<&str> {
    match form.get("type")? {
        Value::String(name) => Some(name),
        Value::Array(names) => {
            let mut names = names.iter().filter_map(Value::as_str);
            names.find(|name| *name != "null")
        }
        _ => None,
    }
}

/// The values of an enumeration, which schemars writes as `enum` or as constants.
fn choices(forms: &[&Value]) -> Option<Vec<String>> {
    let mut words = Vec::new();
    for form in forms {
        if let Some(listed) = form.get("enum").and_then(Value::as_array) {
            words.extend(listed.iter().filter_map(Value::as_str).map(str::to_owned));
        } else {
            words.push(form.get("const")?.as_str()?.to_owned());
        }
    }
    (!words.is_empty()).then_some(words)
}

fn example(property: &Value) -> Option<String> {
    let first = property.get("examples")?.as_array()?.first()?;
    Some(match first {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
