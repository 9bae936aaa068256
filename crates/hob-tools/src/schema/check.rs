//! Checks a value against a valid schema.

use super::keywords::target;
use regex_lite::Regex;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Reasons reported at once.
const REASONS_MAX: usize = 5;
/// Schemas visited for one value: references and alternatives multiply.
const STEPS_MAX: u32 = 50_000;
/// Levels of nesting in the value, and of references.
const DEPTH_MAX: usize = 96;

pub(super) fn check(
    root: &Value,
    patterns: &BTreeMap<String, Regex>,
    value: &Value,
) -> Result<(), Vec<String>> {
    let mut checker = SchemaChecker {
        root,
        patterns,
        steps: 0,
        references: 0,
        reasons: Vec::new(),
    };
    checker.schema(root, value, &ValuePath::Top);
    if checker.reasons.is_empty() {
        Ok(())
    } else {
        Err(checker.reasons)
    }
}

/// The position in the value.
enum ValuePath<'p> {
    Top,
    Field(&'p ValuePath<'p>, &'p str),
    Item(&'p ValuePath<'p>, usize),
}

impl ValuePath<'_> {
    fn depth(&self) -> usize {
        match self {
            ValuePath::Top => 0,
            ValuePath::Field(above, _) | ValuePath::Item(above, _) => above.depth() + 1,
        }
    }

    fn name(&self) -> String {
        match self {
            ValuePath::Top => "the whole".to_owned(),
            ValuePath::Field(ValuePath::Top, name) => format!("'{name}'"),
            ValuePath::Field(above, name) => format!("'{name}' of {}", above.name()),
            ValuePath::Item(above, index) => format!("item {} of {}", index + 1, above.name()),
        }
    }
}

struct SchemaChecker<'s> {
    root: &'s Value,
    patterns: &'s BTreeMap<String, Regex>,
    steps: u32,
    /// References that are being followed now.
    references: usize,
    reasons: Vec<String>,
}

impl SchemaChecker<'_> {
    fn schema(&mut self, schema: &Value, value: &Value, place: &ValuePath<'_>) {
        self.steps += 1;
        if self.steps > STEPS_MAX || place.depth() > DEPTH_MAX {
            return self.refuse(place, "is too much to check");
        }
        match schema {
            Value::Bool(false) => self.refuse(place, "is not allowed"),
            Value::Object(keywords) => {
                self.simple(keywords, value, place);
                self.combined(keywords, value, place);
                match value {
                    Value::Object(fields) => self.object(keywords, fields, place),
                    Value::Array(items) => self.array(keywords, items, place),
                    Value::String(text) => self.text(keywords, text, place),
                    Value::Number(_) => self.number(keywords, value, place),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn simple(&mut self, keywords: &Map<String, Value>, value: &Value, place: &ValuePath<'_>) {
        if let Some(wanted) = keywords.get("type")
            && !has_type(wanted, value)
        {
            let wanted = match wanted {
                Value::Array(names) => {
                    let names = names.iter().filter_map(Value::as_str);
                    names.collect::<Vec<_>>().join(" or ")
                }
                name => name.as_str().unwrap_or_default().to_owned(),
            };
            let found = type_of(value);
            self.refuse(place, &format!("must be of type {wanted}, not {found}"));
        }
        if let Some(Value::Array(choices)) = keywords.get("enum")
            && !choices.iter().any(|choice| same(choice, value))
        {
            let choices: Vec<String> = choices.iter().map(ToString::to_string).collect();
            let choices: String = choices.join(", ").chars().take(400).collect();
            self.refuse(place, &format!("must be one of {choices}"));
        }
        if let Some(wanted) = keywords.get("const")
            && !same(wanted, value)
        {
            self.refuse(place, &format!("must be {wanted}"));
        }
    }

    fn combined(&mut self, keywords: &Map<String, Value>, value: &Value, place: &ValuePath<'_>) {
        if let Some(Value::String(name)) = keywords.get("$ref")
            && let Some(schema) = target(self.root, name)
        {
            self.follow(schema, value, place);
        }
        for schema in list(keywords, "allOf") {
            self.schema(schema, value, place);
        }
        let fitting = |checker: &mut Self, name: &str| {
            let schemas = list(keywords, name).iter();
            let fits = |schema: &&Value| checker.fits(schema, value, place);
            schemas.filter(fits).count()
        };
        if keywords.contains_key("anyOf") && fitting(self, "anyOf") == 0 {
            self.refuse(place, "fits none of its forms");
        }
        if keywords.contains_key("oneOf") {
            match fitting(self, "oneOf") {
                1 => {}
                0 => self.refuse(place, "fits none of its forms"),
                _ => self.refuse(place, "fits more than one of its forms"),
            }
        }
        if let Some(schema) = keywords.get("not")
            && self.fits(schema, value, place)
        {
            self.refuse(place, "has a form that is not allowed");
        }
    }

    /// Follows a reference. A recursive one can nest without the value nesting, so it has its own bound.
    fn follow(&mut self, schema: &Value, value: &Value, place: &ValuePath<'_>) {
        if self.references >= DEPTH_MAX {
            return self.refuse(place, "is too much to check");
        }
        self.references += 1;
        self.schema(schema, value, place);
        self.references -= 1;
    }

    fn fits(&mut self, schema: &Value, value: &Value, place: &ValuePath<'_>) -> bool {
        // A failed alternative is no error by itself, so its reasons are dropped.
        let before = std::mem::take(&mut self.reasons);
        self.schema(schema, value, place);
        let reasons = std::mem::replace(&mut self.reasons, before);
        reasons.is_empty()
    }

    fn object(
        &mut self,
        keywords: &Map<String, Value>,
        fields: &Map<String, Value>,
        place: &ValuePath<'_>,
    ) {
        for name in list(keywords, "required").iter().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                self.refuse(&ValuePath::Field(place, name), "is missing");
            }
        }
        self.size(
            keywords,
            ("minProperties", "maxProperties"),
            fields.len(),
            place,
        );
        let declared = keywords.get("properties").and_then(Value::as_object);
        let others = keywords.get("additionalProperties");
        for (name, value) in fields {
            let below = ValuePath::Field(place, name);
            match (declared.and_then(|declared| declared.get(name)), others) {
                (None, Some(Value::Bool(false))) => {
                    let known = declared.into_iter().flat_map(Map::keys);
                    let known: Vec<&str> = known.map(String::as_str).collect();
                    let known: String = known.join(", ").chars().take(400).collect();
                    self.refuse(&below, &format!("is not known here; known are: {known}"));
                }
                (Some(schema), _) | (None, Some(schema)) => self.schema(schema, value, &below),
                (None, None) => {}
            }
        }
    }

    fn array(&mut self, keywords: &Map<String, Value>, items: &[Value], place: &ValuePath<'_>) {
        self.size(keywords, ("minItems", "maxItems"), items.len(), place);
        let first = list(keywords, "prefixItems");
        for (index, item) in items.iter().enumerate() {
            let schema = first.get(index).or_else(|| keywords.get("items"));
            if let Some(schema) = schema {
                self.schema(schema, item, &ValuePath::Item(place, index));
            }
        }
        let unique = keywords.get("uniqueItems") == Some(&Value::Bool(true));
        let mut seen: Vec<String> = Vec::new();
        if unique {
            seen = items
                .iter()
                .map(hob_core::permission::canonical_json)
                .collect();
            seen.sort_unstable();
        }
        if seen.windows(2).any(|pair| pair[0] == pair[1]) {
            self.refuse(place, "holds the same item twice");
        }
    }

    fn text(&mut self, keywords: &Map<String, Value>, text: &str, place: &ValuePath<'_>) {
        let letters = text.chars().count();
        self.size(keywords, ("minLength", "maxLength"), letters, place);
        if let Some(Value::String(pattern)) = keywords.get("pattern")
            && let Some(compiled) = self.patterns.get(pattern)
            && !compiled.is_match(text)
        {
            self.refuse(place, &format!("must match the pattern {pattern}"));
        }
    }

    fn number(&mut self, keywords: &Map<String, Value>, value: &Value, place: &ValuePath<'_>) {
        type BoundTest = fn(f64, f64) -> bool;
        let bounds: [(&str, &str, BoundTest); 5] = [
            ("minimum", "at least", |found, bound| found < bound),
            ("maximum", "at most", |found, bound| found > bound),
            ("exclusiveMinimum", "more than", |found, bound| {
                found <= bound
            }),
            ("exclusiveMaximum", "less than", |found, bound| {
                found >= bound
            }),
            ("multipleOf", "a multiple of", |found, step| {
                (found / step).fract() != 0.0
            }),
        ];
        let Some(found) = value.as_f64() else { return };
        for (name, words, fails) in bounds {
            let bound = keywords.get(name).and_then(Value::as_f64);
            if bound.is_some_and(|bound| fails(found, bound)) {
                let bound = &keywords[name];
                self.refuse(place, &format!("must be {words} {bound}"));
            }
        }
    }

    fn size(
        &mut self,
        keywords: &Map<String, Value>,
        (least, most): (&str, &str),
        found: usize,
        place: &ValuePath<'_>,
    ) {
        let bound = |name: &str| keywords.get(name).and_then(Value::as_u64);
        let found = found as u64;
        if let Some(least) = bound(least).filter(|least| found < *least) {
            self.refuse(place, &format!("is {found} long, and {least} is the least"));
        }
        if let Some(most) = bound(most).filter(|most| found > *most) {
            self.refuse(place, &format!("is {found} long, and {most} is the most"));
        }
    }

    fn refuse(&mut self, place: &ValuePath<'_>, what: &str) {
        if self.reasons.len() < REASONS_MAX {
            self.reasons.push(format!("{} {what}.", place.name()));
        }
    }
}

fn list<'k>(keywords: &'k Map<String, Value>, name: &str) -> &'k [Value] {
    let items = keywords.get(name).and_then(Value::as_array);
    items.map_or(&[], Vec::as_slice)
}

fn has_type(wanted: &Value, value: &Value) -> bool {
    match wanted {
        Value::Array(names) => names.iter().any(|name| has_type(name, value)),
        Value::String(name) => match name.as_str() {
            "number" => value.is_number(),
            "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            name => name == type_of(value),
        },
        _ => true,
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Equality as in JSON Schema: `1` and `1.0` are the same number.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => one == other,
    }
}
