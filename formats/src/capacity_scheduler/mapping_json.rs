//! Mapping rules in YARN's JSON form.

use apportion::config::{Fallback, MappingAction, MappingRule, PlaceIn, RuleFilter};
use serde::Deserialize;

use super::mapping::Target;
use super::property::{Setting, Settings};
use super::tree::Listed;
use crate::ConfigFileError;
use crate::file::excerpt;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    rules: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Rule {
    #[serde(rename = "type")]
    kind: Kind,
    matches: String,
    policy: Policy,
    parent_queue: Option<String>,
    custom_placement: Option<String>,
    value: Option<String>,
    create: Option<bool>,
    fallback_result: Option<FallbackResult>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Kind {
    User,
    Group,
    Application,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Policy {
    Specified,
    Reject,
    DefaultQueue,
    User,
    PrimaryGroup,
    PrimaryGroupUser,
    SecondaryGroup,
    SecondaryGroupUser,
    ApplicationName,
    Custom,
    SetDefaultQueue,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
enum FallbackResult {
    Skip,
    Reject,
    PlaceDefault,
}

pub(super) fn read(
    settings: &Settings<'_>,
    setting: &Setting<'_>,
    root: &Listed<'_>,
) -> Result<Vec<MappingRule>, ConfigFileError> {
    let document: Document = serde_json::from_str(settings.value(setting)?).map_err(|error| {
        settings.refused(setting, format!("not the JSON of mapping rules: {}", excerpt(&error.to_string())))
    })?;
    let rule = |(position, rule): (usize, &Rule)| {
        let refused = |problem: &str| settings.refused(setting, format!("rule {}: {problem}", position + 1));
        let filter = rule.filter().map_err(refused)?;
        let target = Target { settings, setting, root, creates: rule.create.unwrap_or(true) };
        let action = match rule.path().map_err(refused)? {
            None => MappingAction::Reject,
            Some(path) if matches!(rule.policy, Policy::SetDefaultQueue) => {
                MappingAction::SetDefault(target.path(&path)?)
            }
            Some(path) => {
                let fallback = rule.fallback();
                MappingAction::Place(PlaceIn { fallback, ..target.place(&path)? })
            }
        };
        Ok(MappingRule { filter, action })
    };
    document.rules.iter().enumerate().map(rule).collect()
}

impl Rule {
    fn filter(&self) -> Result<RuleFilter, &'static str> {
        let names = || vec![self.matches.clone()];
        match (self.kind, self.matches.as_str()) {
            (_, "") => Err("`matches` is empty"),
            (Kind::User, "*") => Ok(RuleFilter::everybody()),
            (Kind::User, _) => Ok(RuleFilter { users: names(), ..RuleFilter::default() }),
            (Kind::Group, "*") => Err("a rule for groups names one, `*` is not possible"),
            (Kind::Group, _) => Ok(RuleFilter { groups: names(), ..RuleFilter::default() }),
            (Kind::Application, _) => Ok(RuleFilter { applications: names(), ..RuleFilter::default() }),
        }
    }

    /// The path that the rule leads to; `None` if it rejects.
    fn path(&self) -> Result<Option<String>, &'static str> {
        let below = |name: &str| match &self.parent_queue {
            Some(parent) => format!("{parent}.{name}"),
            None => name.to_owned(),
        };
        let path = match self.policy {
            Policy::Reject => return Ok(None),
            Policy::Specified => "%specified".to_owned(),
            Policy::DefaultQueue => "%default".to_owned(),
            Policy::User => below("%user"),
            Policy::PrimaryGroup => below("%primary_group"),
            Policy::PrimaryGroupUser => below("%primary_group.%user"),
            Policy::SecondaryGroup => below("%secondary_group"),
            Policy::SecondaryGroupUser => below("%secondary_group.%user"),
            Policy::ApplicationName => below("%application"),
            Policy::Custom => self.custom_placement.clone().ok_or("`custom` needs a `customPlacement`")?,
            Policy::SetDefaultQueue => self.value.clone().ok_or("`setDefaultQueue` needs a `value`")?,
        };
        Ok(Some(path))
    }

    /// YARN rejects an application that it cannot place in the default queue.
    fn fallback(&self) -> Fallback {
        match (self.policy, self.fallback_result) {
            (Policy::DefaultQueue, _) | (_, Some(FallbackResult::Reject)) => Fallback::Reject,
            (_, Some(FallbackResult::PlaceDefault)) => Fallback::Default,
            (_, Some(FallbackResult::Skip) | None) => Fallback::Skip,
        }
    }
}
