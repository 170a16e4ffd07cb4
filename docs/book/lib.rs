//! The examples of the book, as tests: `cargo test -p apportion-book`.
//!
//! `src/` has the chapters. Each Rust block in them is a documentation test of this crate. `tests/` checks blocks of
//! other languages, links, and that no chapter is left out.

#![forbid(unsafe_code)]

#[cfg(doctest)]
macro_rules! chapters {
    ($($name:ident: $file:literal,)*) => {
        $(
            #[doc = include_str!(concat!("src/", $file))]
            struct $name;
        )*
    };
}

#[cfg(doctest)]
chapters! {
    Introduction: "introduction.md",
    QuickStart: "quick-start.md",
    Concepts: "concepts.md",
    Queues: "queues.md",
    Modes: "modes.md",
    Embedding: "embedding.md",
    Nodes: "nodes.md",
    Asks: "asks.md",
    Gangs: "gangs.md",
    Events: "events.md",
    Containers: "containers.md",
    Loss: "loss.md",
    Recovery: "recovery.md",
    Explanations: "explanations.md",
    Metrics: "metrics.md",
    Async: "async.md",
    Program: "program.md",
    Policies: "policies.md",
    Preemption: "preemption.md",
    Reconfiguration: "reconfiguration.md",
    Services: "services.md",
    Simulator: "simulator.md",
    Modelling: "modelling.md",
}
