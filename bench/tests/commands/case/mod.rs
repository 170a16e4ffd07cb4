//! A folder with a small trace, in which the program runs.

use std::fs;
use std::process::{Command, Output};

use tempfile::TempDir;

/// Three nodes and three pods, one of which is too large for any node.
pub(super) const NODES: &str = "sn,cpu_milli,memory_mib,gpu,model\nn0,8000,16384,2,T4\nn1,8000,16384,0,\n";
pub(super) const PODS: &str = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n\
p0,1000,1024,1,500,,LS,Running,0,60,0\n\
p1,1000,1024,0,0,,BE,Running,5,60,5\n\
p2,99000,1024,0,0,,BE,Running,6,60,\n";

pub(super) struct Case {
    pub(super) folder: TempDir,
}

impl Case {
    pub(super) fn new() -> Self {
        let case = Self { folder: tempfile::tempdir().unwrap() };
        case.file("nodes.csv", NODES).file("pods.csv", PODS);
        case
    }

    pub(super) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        fs::write(self.folder.path().join(name), text).unwrap();
        self
    }

    pub(super) fn run(&self, arguments: &str) -> Output {
        let program = env!("CARGO_BIN_EXE_apportion-bench");
        Command::new(program)
            .args(arguments.split_whitespace())
            .current_dir(self.folder.path())
            .output()
            .unwrap()
    }
}

pub(super) fn json(text: &[u8]) -> serde_json::Value {
    serde_json::from_slice(text).unwrap()
}

pub(super) fn contains_all(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is missing in: {message}");
    }
}

/// Fails if a browser would load a part of the page from the network. Comments may contain addresses.
pub(super) fn fetches_nothing(page: &str) {
    for fetched in ["src=", "href=", "@import", "url("] {
        assert!(!page.contains(fetched), "the page fetches something: {fetched}");
    }
}
