//! Configuration files of all formats.

use std::path::Path;

use apportion::ResourceTypes;
use apportion::config::Semantics;
use apportion_formats::capacity_scheduler::{NamedText, YarnFiles, from_yarn_files};
use apportion_formats::toml::from_toml;
use apportion_formats::yunikorn::from_queues_yaml;
use apportion_formats::{Imported, NotCarriedOver};
use clap::ValueEnum;

use super::Files;
use crate::cli::Failure;
use crate::text::read_text;

/// The scheduler that a configuration file is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Format {
    /// This engine: TOML.
    Native,
    /// YARN's capacity scheduler: XML.
    Yarn,
    /// YuniKorn: YAML.
    Yunikorn,
}

/// `engine.semantics` of a native file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SemanticsWord {
    /// No user exceeds a limit.
    Strict,
    /// As YARN does.
    #[value(name = "yarn_compatible", alias = "yarn-compatible")]
    YarnCompatible,
}

impl From<SemanticsWord> for Semantics {
    fn from(word: SemanticsWord) -> Self {
        match word {
            SemanticsWord::Strict => Self::Strict,
            SemanticsWord::YarnCompatible => Self::YarnCompatible,
        }
    }
}

impl Format {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Yarn => "yarn",
            Self::Yunikorn => "yunikorn",
        }
    }

    /// The format by the extension of the name, otherwise by the beginning of the text.
    pub(super) fn of(path: &Path, text: &str) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("toml") => Self::Native,
            Some("xml") => Self::Yarn,
            Some("yaml" | "yml") => Self::Yunikorn,
            _ if text.trim_start_matches('\u{feff}').trim_start().starts_with('<') => Self::Yarn,
            _ if text.lines().any(|line| line.starts_with("partitions:")) => Self::Yunikorn,
            _ => Self::Native,
        }
    }
}

/// Reads the text of a file.
fn text_of(path: &Path) -> Result<String, Failure> {
    let text = read_text(path, u64::MAX).map_err(Failure::input)?;
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Err(Failure::input(format!("{}: the file is empty", path.display())));
    }
    Ok(text)
}

/// Reads a configuration and detects its format. `files.types` are the engine's resource types, if the command line has
/// them; a native file has its own.
pub(super) fn read(files: &Files) -> Result<(Format, Imported), Failure> {
    let text = text_of(&files.file)?;
    let format = files.format.unwrap_or_else(|| Format::of(&files.file, &text));
    let types = files.types.as_ref().map(ResourceTypes::new).transpose();
    let types = types.map_err(|error| Failure::input(format!("--types: {error}")))?;
    let of_yarn = [("--yarn-site", &files.yarn_site), ("--resource-types", &files.resource_types)];
    if let (false, Some((option, _))) =
        (format == Format::Yarn, of_yarn.iter().find(|(_, path)| path.is_some()))
    {
        return Err(Failure::input(format!("{option} applies only to a capacity-scheduler.xml")));
    }
    if format == Format::Native && types.is_some() {
        return Err(Failure::input("--types applies only to imported files; a native file has [resources]"));
    }
    if format == Format::Native && files.semantics.is_some() {
        let problem = "--semantics applies only to imported files; a native file has engine.semantics";
        return Err(Failure::input(problem));
    }
    let others = of_yarn.map(|(_, path)| path.as_deref());
    let mut imported = read_as(format, &files.file, &text, others, types.as_ref())?;
    if let Some(word) = files.semantics {
        imported.config.semantics = word.into();
    }
    Ok((format, imported))
}

/// Reads a single configuration file, for an engine that counts `types`.
pub(in crate::cli) fn read_file(path: &Path, types: &ResourceTypes) -> Result<(Format, Imported), Failure> {
    let text = text_of(path)?;
    let format = Format::of(path, &text);
    Ok((format, read_as(format, path, &text, [None, None], Some(types))?))
}

fn read_as(
    format: Format,
    path: &Path,
    text: &str,
    [site, resource_types]: [Option<&Path>; 2],
    types: Option<&ResourceTypes>,
) -> Result<Imported, Failure> {
    let name = path.display().to_string();
    match format {
        Format::Native => from_toml(text, &name).map(Imported::from),
        Format::Yunikorn => {
            let default = ResourceTypes::memory_and_vcores();
            from_queues_yaml(text, &name, types.unwrap_or(&default))
        }
        Format::Yarn => {
            let named = |path: Option<&Path>| -> Result<_, Failure> {
                path.map(|path| Ok((path.display().to_string(), text_of(path)?))).transpose()
            };
            let (site, resource_types) = (named(site)?, named(resource_types)?);
            let files = YarnFiles {
                queues: NamedText { name: &name, text },
                site: site.as_ref().map(|(name, text)| NamedText { name, text }),
                resource_types: resource_types.as_ref().map(|(name, text)| NamedText { name, text }),
            };
            from_yarn_files(&files, types)
        }
    }
    .map_err(Failure::input)
}

/// An entry of the list of keys that were not carried over, on one line whatever the file contains.
pub(in crate::cli) fn report_line(entry: &NotCarriedOver) -> String {
    let NotCarriedOver { file_name, line, key, value, reason, .. } = entry;
    let value = if value.is_empty() { String::new() } else { format!(" = {value}") };
    let text = format!("{file_name}:{line}: not carried over as it is: {key}{value}: {reason}");
    let plain = |character: char| {
        if character.is_control() { character.escape_default().collect() } else { character.to_string() }
    };
    text.chars().map(plain).collect()
}
