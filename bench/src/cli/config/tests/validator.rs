//! The part of JSON Schema that the schema of native files uses; unknown keywords are errors.

use serde_json::{Map, Value};

/// The errors in `value`, each with its path.
pub(super) fn problems(schema: &Value, value: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    check(schema, schema, value, "", &mut problems);
    problems
}

/// Every table key in the schema.
pub(super) fn keys(schema: &Value) -> Vec<String> {
    let below = |value: &Value| keys(value);
    match value_of(schema) {
        (Some(map), _) => {
            let properties = map.get("properties").and_then(Value::as_object);
            let own = properties.into_iter().flat_map(Map::keys).cloned();
            own.chain(map.values().flat_map(below)).collect()
        }
        (None, Some(list)) => list.iter().flat_map(below).collect(),
        (None, None) => Vec::new(),
    }
}

fn value_of(value: &Value) -> (Option<&Map<String, Value>>, Option<&Vec<Value>>) {
    (value.as_object(), value.as_array())
}

fn check(root: &Value, schema: &Value, value: &Value, path: &str, problems: &mut Vec<String>) {
    let passes = |schema: &Value| {
        let mut found = Vec::new();
        check(root, schema, value, path, &mut found);
        found.is_empty()
    };
    if *schema == Value::Bool(false) {
        problems.push(format!("{path}: may not be here"));
        return;
    }
    for (keyword, rule) in schema.as_object().expect("a schema is an object") {
        let list = || rule.as_array().expect("a list").iter();
        let holds = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "default" => true,
            "$ref" => passes(root.pointer(&rule.as_str().unwrap()[1..]).expect("it is defined")),
            "oneOf" => list().filter(|schema| passes(schema)).count() == 1,
            "anyOf" => list().any(passes),
            "not" => !passes(rule),
            "enum" => list().any(|allowed| allowed == value),
            "const" => rule == value,
            "type" => is_type(rule.as_str().unwrap(), value),
            "pattern" => value.as_str().is_none_or(|text| matches(rule.as_str().unwrap(), text)),
            "minLength" => value.as_str().is_none_or(|text| text.len() as u64 >= rule.as_u64().unwrap()),
            "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= rule.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= rule.as_u64().unwrap()),
            "uniqueItems" => {
                value.as_array().is_none_or(|items| (1..items.len()).all(|i| !items[..i].contains(&items[i])))
            }
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
            "exclusiveMinimum" => value.as_f64().is_none_or(|number| number > rule.as_f64().unwrap()),
            "required" => {
                value.as_object().is_none_or(|map| list().all(|key| map.contains_key(key.as_str().unwrap())))
            }
            "propertyNames" => value
                .as_object()
                .is_none_or(|map| map.keys().all(|key| problems_of(root, rule, &Value::from(key.as_str())))),
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, item, &format!("{path}[{i}]"), problems);
                }
                true
            }
            "properties" | "additionalProperties" => {
                check_properties(root, schema, keyword, value, path, problems);
                true
            }
            other => panic!("the validator does not know `{other}`"),
        };
        if !holds {
            problems.push(format!("{path}: {keyword}"));
        }
    }
}

fn problems_of(root: &Value, schema: &Value, value: &Value) -> bool {
    let mut found = Vec::new();
    check(root, schema, value, "", &mut found);
    found.is_empty()
}

fn check_properties(
    root: &Value,
    schema: &Value,
    keyword: &str,
    value: &Value,
    path: &str,
    problems: &mut Vec<String>,
) {
    let known = |key: &String| schema.get("properties").and_then(|properties| properties.get(key));
    for (key, value) in value.as_object().into_iter().flatten() {
        let path = format!("{path}.{key}");
        match (keyword, known(key), &schema[keyword]) {
            ("additionalProperties", None, Value::Bool(false)) => problems.push(format!("{path}: unknown")),
            ("properties", Some(schema), _) | ("additionalProperties", None, schema) => {
                check(root, schema, value, &path, problems);
            }
            _ => {}
        }
    }
}

fn is_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("the validator does not know the type `{other}`"),
    }
}

/// Matches one of the four patterns in the schema.
fn matches(pattern: &str, text: &str) -> bool {
    let number = |text: &str| {
        let text = text.trim_start();
        let digits = text.strip_prefix('+').unwrap_or(text).trim_end();
        digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && digits.matches('.').count() <= 1
    };
    match pattern {
        r"^\s*\+?[0-9]*\.?[0-9]*\s*%$" => text.strip_suffix('%').is_some_and(number),
        r"^\s*\+?[0-9]*\.?[0-9]*\s*(%|w)$" => text.strip_suffix(['%', 'w']).is_some_and(number),
        r"^root(\.[^.,]+)*$" => {
            let mut names = text.split('.');
            names.next() == Some("root") && names.all(|name| !name.is_empty() && !name.contains(','))
        }
        r"^\S*(\s+\S+)?\s*$" => {
            let names = text.split_whitespace().count();
            names <= 1 + usize::from(text.starts_with(|c: char| !c.is_whitespace()))
        }
        other => panic!("the validator does not know the pattern `{other}`"),
    }
}
