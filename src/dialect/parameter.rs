//! The parameters of a tool: one table, from which its schema is made and its arguments are read.

use serde_json::{Value, json};

use super::json::JsonObject;

/// One argument of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Name; empty of [`Parameter::REST`].
    pub name: &'static str,
    /// Type of the value.
    pub form: Form,
    /// Description for the model that calls; empty where the name is enough.
    pub about: &'static str,
    /// Whether a call must have it.
    pub is_required: bool,
    /// Whether it is accepted but in no schema, as another name of a parameter.
    pub is_hidden: bool,
    /// Default value, for the schema.
    pub default: Option<Literal>,
}

/// The type of a parameter's value.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    Text,
    /// A list of `least` to `most` texts.
    Texts {
        least: usize,
        most: usize,
    },
    /// A whole number; `u64::MAX` is no bound.
    Whole {
        low: u64,
        high: u64,
    },
    /// A number from 0 to 1.
    Share,
    Flag,
    /// One word of several.
    Word(&'static [&'static str]),
    Object,
    /// A list of at most `most` objects with these members.
    Objects {
        members: &'static [Parameter],
        most: usize,
    },
    Any,
}

/// A default value in a constant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Literal {
    Text(&'static str),
    Whole(u64),
    Share(f64),
    Flag(bool),
}

impl Parameter {
    /// Marker that any other argument is accepted, too.
    pub const REST: Parameter = Parameter::new("", Form::Any, "");

    /// Returns an optional parameter.
    pub const fn new(name: &'static str, form: Form, about: &'static str) -> Parameter {
        Parameter {
            name,
            form,
            about,
            is_required: false,
            is_hidden: false,
            default: None,
        }
    }

    /// Returns a parameter for a text.
    pub const fn text(name: &'static str, about: &'static str) -> Parameter {
        Parameter::new(name, Form::Text, about)
    }

    /// Returns a parameter for any number of texts.
    pub const fn texts(name: &'static str, about: &'static str) -> Parameter {
        let form = Form::Texts {
            least: 0,
            most: usize::MAX,
        };
        Parameter::new(name, form, about)
    }

    /// Returns a parameter for a whole number from `low` to `high`.
    pub const fn whole(name: &'static str, low: u64, high: u64, about: &'static str) -> Parameter {
        Parameter::new(name, Form::Whole { low, high }, about)
    }

    /// Returns a parameter for a number from 0 to 1.
    pub const fn share(name: &'static str, about: &'static str) -> Parameter {
        Parameter::new(name, Form::Share, about)
    }

    /// Returns a parameter for a boolean.
    pub const fn flag(name: &'static str, about: &'static str) -> Parameter {
        Parameter::new(name, Form::Flag, about)
    }

    /// Returns a parameter for one of `words`.
    pub const fn word(
        name: &'static str,
        words: &'static [&'static str],
        about: &'static str,
    ) -> Parameter {
        Parameter::new(name, Form::Word(words), about)
    }

    /// Returns a parameter for an object.
    pub const fn object(name: &'static str, about: &'static str) -> Parameter {
        Parameter::new(name, Form::Object, about)
    }

    /// Returns the parameter as required.
    pub const fn required(mut self) -> Parameter {
        self.is_required = true;
        self
    }

    /// Returns the parameter as hidden.
    pub const fn hidden(mut self) -> Parameter {
        self.is_hidden = true;
        self
    }

    /// Returns the parameter with a default.
    pub const fn or(mut self, default: Literal) -> Parameter {
        self.default = Some(default);
        self
    }

    /// Returns the JSON schema of its value.
    pub fn schema(&self) -> Value {
        let mut schema = JsonObject::new();
        let mut put = |key: &str, value: Value| drop(schema.insert(key.to_owned(), value));
        put("type", json!(self.form.json_type()));
        match self.form {
            Form::Texts { least, most } => {
                put("items", json!({"type": "string"}));
                if least > 0 {
                    put("minItems", json!(least));
                }
                if most < usize::MAX {
                    put("maxItems", json!(most));
                }
            }
            Form::Whole { low, high } => {
                put("minimum", json!(low));
                if high < u64::MAX {
                    put("maximum", json!(high));
                }
            }
            Form::Share => {
                put("minimum", json!(0));
                put("maximum", json!(1));
            }
            Form::Word(words) => put("enum", json!(words)),
            Form::Objects { members, most } => {
                put("items", Value::Object(self::schema(members)));
                put("maxItems", json!(most));
            }
            Form::Text | Form::Flag | Form::Object | Form::Any => {}
        }
        if let Some(default) = self.default {
            put("default", default.value());
        }
        if !self.about.is_empty() {
            put("description", json!(self.about));
        }
        Value::Object(schema)
    }
}

impl Form {
    fn json_type(self) -> Value {
        match self {
            Form::Text | Form::Word(_) => json!("string"),
            Form::Texts { .. } | Form::Objects { .. } => json!("array"),
            Form::Whole { .. } => json!("integer"),
            Form::Share => json!("number"),
            Form::Flag => json!("boolean"),
            Form::Object => json!("object"),
            Form::Any => json!(["string", "number", "boolean", "object", "array", "null"]),
        }
    }
}

impl Literal {
    fn value(self) -> Value {
        match self {
            Literal::Text(text) => json!(text),
            Literal::Whole(number) => json!(number),
            Literal::Share(share) => json!(share),
            Literal::Flag(flag) => json!(flag),
        }
    }
}

/// Returns the JSON schema of an object with these members.
pub fn schema(parameters: &[Parameter]) -> JsonObject {
    let named = || {
        let offered = |one: &&Parameter| !(one.name.is_empty() || one.is_hidden);
        parameters.iter().filter(offered)
    };
    let properties: JsonObject = named()
        .map(|one| (one.name.to_owned(), one.schema()))
        .collect();
    let required: Vec<&str> = named()
        .filter(|one| one.is_required)
        .map(|one| one.name)
        .collect();
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}
