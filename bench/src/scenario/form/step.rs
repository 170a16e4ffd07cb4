//! Steps in a scenario file.

use std::collections::BTreeMap;
use std::fmt;

use apportion::nearest::nearest;
use apportion::request::RejectReason;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::{
    Amounts, ApplicationForm, AskForm, BudgetsForm, CostForm, DevicesForm, ExpectForm, GangForm, NamesForm,
    NodeForm, OneOrMany, PlanForm,
};

/// One step.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::scenario) enum Step {
    /// Runs everything that is due at the present time.
    RunUntilQuiet,
    /// A pass that makes at most one container or reservation.
    #[serde(deserialize_with = "all_or_confined")]
    Pass(PassForm),
    AdvanceMs(u64),
    Heartbeat(NamesForm),
    AddNode(NodeForm),
    RecoverNode(Box<RecoverForm>),
    DrainNode(NamesForm),
    ActivateNode(NamesForm),
    RemoveNode(NamesForm),
    ResizeNode(ResizeForm),
    SetNodePartition(PartitionForm),
    Submit(ApplicationForm),
    EndApplication(NamesForm),
    KillApplication(NamesForm),
    UpdateBlacklist(Box<BlacklistForm>),
    MoveApplication(MoveForm),
    SetPriority(SetPriorityForm),
    Ask(Box<AskForm>),
    Cancel(CancelForm),
    Gang(Box<GangForm>),
    CancelGang(String),
    ResizeContainers(ResizeContainersForm),
    DemoteContainers(AnsweredForm),
    PromoteContainers(AnsweredForm),
    /// Wants opportunistic containers promoted when there is room.
    RequestPromotion(AnsweredForm),
    /// An application stops containers, and waits for their ends.
    StopContainers(AnsweredForm),
    SetPreemptionCost(CostForm),
    SetDisruptionBudgets(BudgetsForm),
    /// Announced victims may end now.
    ConfirmPreemption(ContainersForm),
    /// Containers end by themselves, with success or failure: the engine makes no difference.
    #[serde(alias = "fail")]
    Complete(ContainersForm),
    /// An application releases containers.
    Release(ContainersForm),
    UpdateQueue(Box<UpdateQueueForm>),
    Reconfigure(ReconfigureForm),
    /// Makes a commit request from the present state, to be committed later.
    Prepare(PrepareForm),
    Commit(CommitForm),
    /// Makes a plan of preemption.
    PlanPreemption(Box<PlanForm>),
    /// Commits the requests of the last plan.
    CommitPlan,
    Expect(Box<ExpectForm>),
}

/// The scope of a pass: `all`, or a node and a leaf.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct PassForm {
    pub(in crate::scenario) node: Option<NamesForm>,
    pub(in crate::scenario) leaf: Option<String>,
    pub(in crate::scenario) times: Option<u32>,
}

fn all_or_confined<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PassForm, D::Error> {
    deserializer.deserialize_any(PassVisitor)
}

struct PassVisitor;

impl<'de> Visitor<'de> for PassVisitor {
    type Value = PassForm;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`all`, or `{ node: NAME, leaf: QUEUE, times: N }`")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<PassForm, E> {
        match word {
            "all" => Ok(PassForm::default()),
            _ => Err(E::unknown_variant(word, &["all"])),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PassForm, A::Error> {
        PassForm::deserialize(MapAccessDeserializer::new(map))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct ResizeForm {
    pub(in crate::scenario) node: NamesForm,
    pub(in crate::scenario) resources: Amounts,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct PartitionForm {
    pub(in crate::scenario) node: NamesForm,
    pub(in crate::scenario) partition: String,
}

/// A node that reports its running containers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct RecoverForm {
    pub(in crate::scenario) node: NodeForm,
    pub(in crate::scenario) containers: Vec<RunningForm>,
}

/// A running container, under a name as if an ask had requested it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct RunningForm {
    pub(in crate::scenario) application: String,
    pub(in crate::scenario) name: String,
    pub(in crate::scenario) size: Amounts,
    pub(in crate::scenario) devices: Option<DevicesForm>,
    #[serde(default)]
    pub(in crate::scenario) tags: NamesForm,
    pub(in crate::scenario) refused: Option<String>,
}

/// Additions to and removals from an application's blacklist.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct BlacklistForm {
    pub(in crate::scenario) application: String,
    #[serde(default)]
    pub(in crate::scenario) add_hosts: NamesForm,
    #[serde(default)]
    pub(in crate::scenario) add_racks: NamesForm,
    #[serde(default)]
    pub(in crate::scenario) remove_hosts: NamesForm,
    #[serde(default)]
    pub(in crate::scenario) remove_racks: NamesForm,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct MoveForm {
    pub(in crate::scenario) application: String,
    pub(in crate::scenario) queue: String,
    pub(in crate::scenario) refused: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct SetPriorityForm {
    pub(in crate::scenario) application: String,
    pub(in crate::scenario) priority: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct CancelForm {
    pub(in crate::scenario) ask: String,
    /// All outstanding units by default.
    pub(in crate::scenario) units: Option<u32>,
}

/// Running containers of an ask or of an application, on any node or on one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct ContainersForm {
    pub(in crate::scenario) ask: Option<String>,
    pub(in crate::scenario) application: Option<String>,
    pub(in crate::scenario) node: Option<String>,
    /// This many of the oldest; all by default.
    pub(in crate::scenario) count: Option<usize>,
    /// Containers in the queues of nodes, instead of running ones.
    #[serde(default)]
    pub(in crate::scenario) waiting: bool,
}

/// Running containers, as above, and their new size.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct ResizeContainersForm {
    pub(in crate::scenario) of: ContainersForm,
    pub(in crate::scenario) size: Amounts,
    pub(in crate::scenario) refused: Option<String>,
}

/// Running containers, as above, and the expected reason for a refusal, if any.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct AnsweredForm {
    pub(in crate::scenario) of: ContainersForm,
    pub(in crate::scenario) refused: Option<String>,
}

/// New limits of a queue; omitted limits stay.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct UpdateQueueForm {
    pub(in crate::scenario) queue: String,
    pub(in crate::scenario) capacity: Option<ShareForm>,
    pub(in crate::scenario) maximum_capacity: Option<ShareForm>,
    pub(in crate::scenario) user_limit_factor: Option<ShareForm>,
    pub(in crate::scenario) user_limit_minimum: Option<ShareForm>,
    pub(in crate::scenario) priority: Option<ShareForm>,
    pub(in crate::scenario) state: Option<ShareForm>,
    /// The two limits on applications are set together: an omitted one is removed.
    pub(in crate::scenario) maximum_applications: Option<ShareForm>,
    pub(in crate::scenario) maximum_applications_per_user: Option<ShareForm>,
    /// These two also; setting them removes the limits of single users.
    pub(in crate::scenario) maximum_parallel_applications: Option<ShareForm>,
    pub(in crate::scenario) maximum_parallel_applications_per_user: Option<ShareForm>,
    pub(in crate::scenario) maximum_master_share: Option<ShareForm>,
    pub(in crate::scenario) refused: Option<String>,
}

/// The complete new queue tree.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct ReconfigureForm {
    /// Native TOML; the resource types may be omitted.
    pub(in crate::scenario) config: String,
    /// Only a dry run.
    #[serde(default)]
    pub(in crate::scenario) dry_run: bool,
    pub(in crate::scenario) refused: Option<String>,
}

/// A share of a queue in the format of a configuration: a number, a text such as `40 %`, or one for each type.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(in crate::scenario) enum ShareForm {
    Whole(i64),
    Part(f64),
    Text(String),
    Each(BTreeMap<String, ShareForm>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct PrepareForm {
    pub(in crate::scenario) name: String,
    pub(in crate::scenario) request: RequestForm,
}

/// A request, or the name of a prepared one, and the verdicts on it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct CommitForm {
    pub(in crate::scenario) request: Option<RequestForm>,
    pub(in crate::scenario) prepared: Option<String>,
    /// One verdict for each commit of the request.
    pub(in crate::scenario) expect: OneOrMany<Verdict>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct RequestForm {
    #[serde(default)]
    pub(in crate::scenario) allocate: Vec<AllocateForm>,
    #[serde(default)]
    pub(in crate::scenario) reserve: Vec<OnNodeForm>,
    /// Containers that the request releases.
    #[serde(default)]
    pub(in crate::scenario) release: Vec<ContainersForm>,
    /// Nodes whose reservations the request drops.
    #[serde(default)]
    pub(in crate::scenario) unreserve: NamesForm,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct AllocateForm {
    pub(in crate::scenario) ask: String,
    pub(in crate::scenario) node: String,
    /// Fulfils the present reservation on the node, whichever ask holds it.
    #[serde(default)]
    pub(in crate::scenario) from_reservation: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct OnNodeForm {
    pub(in crate::scenario) ask: String,
    pub(in crate::scenario) node: String,
}

/// The committer's verdict on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scenario) enum Verdict {
    Accepted,
    Rejected(RejectReason),
}

const ACCEPTED: &str = "accepted";

impl<'de> Deserialize<'de> for Verdict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        if word == ACCEPTED {
            return Ok(Self::Accepted);
        }
        let reason = RejectReason::ALL.iter().find(|reason| reason.label() == word);
        reason.map(|reason| Self::Rejected(*reason)).ok_or_else(|| {
            let labels = RejectReason::ALL.iter().map(|reason| reason.label());
            let hint = nearest(&word, labels.chain([ACCEPTED]));
            let hint = hint.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
            D::Error::custom(format!("unknown verdict `{word}`{hint}"))
        })
    }
}

impl Step {
    /// Its name in the file.
    pub(in crate::scenario) fn name(&self) -> &'static str {
        match self {
            Self::RunUntilQuiet => "run_until_quiet",
            Self::Pass(_) => "pass",
            Self::AdvanceMs(_) => "advance_ms",
            Self::Heartbeat(_) => "heartbeat",
            Self::AddNode(_) => "add_node",
            Self::RecoverNode(_) => "recover_node",
            Self::DrainNode(_) => "drain_node",
            Self::ActivateNode(_) => "activate_node",
            Self::RemoveNode(_) => "remove_node",
            Self::ResizeNode(_) => "resize_node",
            Self::SetNodePartition(_) => "set_node_partition",
            Self::Submit(_) => "submit",
            Self::EndApplication(_) => "end_application",
            Self::KillApplication(_) => "kill_application",
            Self::UpdateBlacklist(_) => "update_blacklist",
            Self::MoveApplication(_) => "move_application",
            Self::SetPriority(_) => "set_priority",
            Self::Ask(_) => "ask",
            Self::Cancel(_) => "cancel",
            Self::Gang(_) => "gang",
            Self::CancelGang(_) => "cancel_gang",
            Self::ResizeContainers(_) => "resize_containers",
            Self::DemoteContainers(_) => "demote_containers",
            Self::PromoteContainers(_) => "promote_containers",
            Self::RequestPromotion(_) => "request_promotion",
            Self::StopContainers(_) => "stop_containers",
            Self::SetPreemptionCost(_) => "set_preemption_cost",
            Self::SetDisruptionBudgets(_) => "set_disruption_budgets",
            Self::ConfirmPreemption(_) => "confirm_preemption",
            Self::Complete(_) => "complete",
            Self::Release(_) => "release",
            Self::UpdateQueue(_) => "update_queue",
            Self::Reconfigure(_) => "reconfigure",
            Self::Prepare(_) => "prepare",
            Self::Commit(_) => "commit",
            Self::PlanPreemption(_) => "plan_preemption",
            Self::CommitPlan => "commit_plan",
            Self::Expect(_) => "expect",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted => f.write_str(ACCEPTED),
            Self::Rejected(reason) => reason.fmt(f),
        }
    }
}
