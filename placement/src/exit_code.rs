//! The numbers with which commands end.

use serde::{Deserialize, Serialize};

/// How a command ended, in Slider's numbers as shipped (`slider.md` 4.3; the manual's older ones differ).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(i32)]
#[non_exhaustive]
pub enum ExitCode {
    /// The answer is no, which is not an error.
    False = -1,
    /// All is well.
    Success = 0,
    /// The client was told to shut down.
    ClientInitiatedShutdown = 1,
    /// The service could not be launched.
    TaskLaunchFailure = 2,
    /// The command was interrupted.
    Interrupted = 3,
    /// The command was not given as it has to be.
    Usage = 4,
    /// Any other failure.
    OtherFailure = 5,
    /// The object is elsewhere now.
    Moved = 31,
    /// The object was found elsewhere.
    Found = 32,
    /// Nothing had to be changed.
    NotModified = 34,
    /// An argument is wrong.
    BadArgument = 40,
    /// The caller is unknown.
    Unauthorized = 41,
    /// The caller has no permission.
    Forbidden = 43,
    /// A thing named in a command is not there.
    NotFound = 44,
    /// It cannot be done to this.
    OperationNotAllowed = 45,
    /// The answer cannot be given in the form asked for.
    NotAcceptable = 46,
    /// The host cannot be reached.
    Connectivity = 48,
    /// Two changes collided.
    Conflict = 49,
    /// A mistake in the program.
    InternalError = 50,
    /// No such command.
    Unimplemented = 51,
    /// The host is not ready to answer.
    ServiceUnavailable = 53,
    /// A version that is not supported.
    UnsupportedVersion = 55,
    /// An exception. A service that is unhealthy for too long ends with it too.
    ExceptionThrown = 56,
    /// The application failed.
    ApplicationFailed = 65,
    /// The application was killed.
    ApplicationKilled = 66,
    /// Something took too long.
    TimedOut = 67,
    /// The application finished, and says that it failed.
    FinishedWithError = 68,
    /// There is no such instance.
    UnknownInstance = 69,
    /// The instance is in no state for this.
    BadState = 70,
    /// A process of the service failed.
    ProcessFailed = 71,
    /// Too many containers failed.
    DeploymentFailed = 72,
    /// The instance runs, or somebody is changing it.
    InUse = 73,
    /// There is such an instance already.
    InstanceExists = 75,
    /// The definition is wrong.
    BadConfiguration = 77,
}

impl ExitCode {
    /// Every code, in order.
    pub const ALL: [Self; 34] = [
        Self::False,
        Self::Success,
        Self::ClientInitiatedShutdown,
        Self::TaskLaunchFailure,
        Self::Interrupted,
        Self::Usage,
        Self::OtherFailure,
        Self::Moved,
        Self::Found,
        Self::NotModified,
        Self::BadArgument,
        Self::Unauthorized,
        Self::Forbidden,
        Self::NotFound,
        Self::OperationNotAllowed,
        Self::NotAcceptable,
        Self::Connectivity,
        Self::Conflict,
        Self::InternalError,
        Self::Unimplemented,
        Self::ServiceUnavailable,
        Self::UnsupportedVersion,
        Self::ExceptionThrown,
        Self::ApplicationFailed,
        Self::ApplicationKilled,
        Self::TimedOut,
        Self::FinishedWithError,
        Self::UnknownInstance,
        Self::BadState,
        Self::ProcessFailed,
        Self::DeploymentFailed,
        Self::InUse,
        Self::InstanceExists,
        Self::BadConfiguration,
    ];

    /// Slider's number.
    #[must_use]
    pub fn code(self) -> i32 {
        self as i32
    }

    /// The code that a shell sees: −1 becomes 255.
    #[must_use]
    pub fn process_code(self) -> u8 {
        self.code().rem_euclid(256).try_into().unwrap_or(u8::MAX)
    }
}
