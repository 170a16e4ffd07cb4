//! Command lines in blocks of shell.

use apportion_bench::cli::Cli;
use clap::CommandFactory;
use clap::error::ErrorKind;

use super::page::{Page, root};

/// Each command line can be given: the program knows its options, and examples and aliases of cargo exist.
#[test]
fn commands_exist() {
    let mut count = 0;
    for block in Page::all().iter().flat_map(Page::blocks) {
        if !matches!(block.language.as_str(), "console" | "sh") {
            continue;
        }
        for line in block.text.lines() {
            let command = line.trim_start_matches("$ ").split("  #").next().unwrap_or_default();
            let words: Vec<&str> = command.split_whitespace().collect();
            if let Err(problem) = check(&words) {
                panic!("{}: {command}: {problem}", block.place);
            }
            count += usize::from(!words.is_empty());
        }
    }
    assert!(count > 30, "{count} commands");
}

fn check(words: &[&str]) -> Result<(), String> {
    let cargo = match words {
        [] => return Ok(()),
        ["apportion-bench", arguments @ ..] | ["cargo", "run", "--release", "--", arguments @ ..] => {
            return check_program(arguments);
        }
        ["cargo", rest @ ..] => rest,
        _ => return Err("neither cargo nor apportion-bench".to_owned()),
    };
    let after = |option: &str| cargo.iter().skip_while(|word| **word != option).nth(1);
    if let (Some(package), Some(example)) = (after("-p"), after("--example")) {
        let folder = folder_of(package).ok_or("no such package")?;
        let is_there = root().join(folder).join(format!("examples/{example}.rs")).is_file();
        return if is_there { Ok(()) } else { Err("no such example".to_owned()) };
    }
    let aliases = std::fs::read_to_string(root().join(".cargo/config.toml")).expect("readable");
    let is_known = matches!(cargo[0], "run" | "test" | "doc" | "bench" | "build" | "install");
    let is_alias = aliases.lines().any(|line| line.starts_with(&format!("{} = [", cargo[0])));
    if is_known || is_alias { Ok(()) } else { Err("no such command of cargo".to_owned()) }
}

fn check_program(arguments: &[&str]) -> Result<(), String> {
    let words = std::iter::once("apportion-bench").chain(arguments.iter().copied());
    match Cli::command().try_get_matches_from(words) {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

fn folder_of(package: &str) -> Option<&'static str> {
    let folders = ["scheduler", "formats", "placement", "bench", "bench/load", "docs/book"];
    folders.into_iter().find(|folder| {
        let manifest = std::fs::read_to_string(root().join(folder).join("Cargo.toml"));
        manifest.is_ok_and(|text| text.contains(&format!("\nname = \"{package}\"")))
    })
}
