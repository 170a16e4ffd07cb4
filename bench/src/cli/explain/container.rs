//! A running container: whether preemption will end it, for whom, and why this one.

use apportion::preempt::PreemptionCost;
use apportion::view::{ContainerView, View};
use apportion::{ContainerId, ExecutionType};

use super::now_text;
use crate::cli::plan::because;

/// Says where a container runs, and whether preemption is to end it.
pub(super) fn explain(view: &View<'_>, id: ContainerId, is_json: bool) -> Result<String, String> {
    let Some(container) = view.container(id) else {
        return Err(format!("after change {}, at {} no {id} is running", view.seq(), now_text(view)));
    };
    let host = view.node(container.node).map(|node| node.name().to_owned());
    let application = view.application(container.application);
    let job = application.as_ref().map(|application| application.name().to_owned());
    let priority = application.as_ref().map_or(0, |application| application.priority());
    if is_json {
        let figures = serde_json::json!({
            "seq": view.seq(), "now_ms": view.now_ms(), "container": id, "application": container.application,
            "application_name": job, "node": container.node, "host": host, "preemption": container.preemption,
            "stopping": container.stopping, "victim_class": class(&container).0,
            "preemption_cost": container.preemption_cost, "application_priority": priority,
        });
        return serde_json::to_string_pretty(&figures).map_err(|error| error.to_string());
    }
    let (job, host) = (job.unwrap_or_default(), host.unwrap_or_else(|| container.node.to_string()));
    Ok(format!("{id} of {job} on {host} {}\n{}", end(view, &container), order(&container, priority)))
}

/// Whether it is to end, and why.
fn end(view: &View<'_>, container: &ContainerView) -> String {
    match (container.stopping, container.preemption) {
        (Some(stopping), _) => format!("is being stopped: {}.", stopping.cause),
        (None, Some(notice)) => {
            let beneficiary = view.ask(notice.ask).and_then(|ask| view.application(ask.application()));
            match beneficiary.map(|application| application.queue()) {
                Some(queue) => {
                    format!("is announced to end {notice}, because {}.", because(notice.rule, queue))
                }
                None => format!("is announced to end {notice}."),
            }
        }
        (None, None) => "is not announced to end by preemption.".to_owned(),
    }
}

/// Its place in the order in which preemption takes the containers of a node.
fn order(container: &ContainerView, priority: u32) -> String {
    let cost = match container.preemption_cost {
        PreemptionCost::Never => {
            return "Its preemption cost is `never`, so preemption does not take it.".to_owned();
        }
        cost => cost,
    };
    format!(
        "Preemption takes announced containers first, then placeholders, then opportunistic, borrowed and guaranteed \
         containers, and masters last. Within a kind, the order is: lowest cost, lowest priority of the application, \
         latest application, newest container. This one is {}, costs {cost}, and its \
         application has priority {priority}.",
        class(container).1
    )
}

/// The kind of the container, as a label and in a sentence. Announced containers are taken before all kinds.
fn class(container: &ContainerView) -> (&'static str, &'static str) {
    match container.execution_type {
        _ if container.is_master => ("master", "a master"),
        _ if container.placeholder.is_some() => ("placeholder", "a placeholder"),
        ExecutionType::Opportunistic => ("opportunistic", "opportunistic"),
        _ if container.is_borrowed => ("borrowed", "borrowed"),
        _ => ("guaranteed", "guaranteed"),
    }
}
