//! A program of models that runs them once: a failing model hides no later one.

use std::env;
use std::process::{Command, ExitCode};

use apportion::model::{Checker, Model, run};

fn main() -> ExitCode {
    let is_asked = env::args().any(|argument| argument == "--once");
    if is_asked || env::var_os("APPORTION_MODEL_WORKER").is_some() {
        return run([
            Model::new("panics", || panic!("this model fails")),
            Model::new("ends_its_process", || std::process::abort()),
            Model::new("holds", || {}),
        ]);
    }
    if Checker::BUILT == Checker::Once {
        later_models_run();
    }
    ExitCode::SUCCESS
}

fn later_models_run() {
    let program = env::current_exe().expect("this program has a path");
    let output = Command::new(program).arg("--once").output().expect("this program starts");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(!output.status.success(), "{text}");
    for words in ["this model fails", "holds: holds in 1 order, on real threads", "2 of 3 models fail, in "] {
        assert!(text.contains(words), "no `{words}` in\n{text}");
    }
    assert!(text.contains(": panics, ends_its_process\n"), "{text}");
}
