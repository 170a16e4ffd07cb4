//! Exit codes of commands.

use serde::{Deserialize, Serialize};

/// The exit code of a command: Slider's numbers as shipped (`slider.md` 4.3; the manual's older ones
/// differ).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(i32)]
#[non_exhaustive]
pub enum ExitCode {
    /// The answer is negative, which is not an error.
    False = -1,
    /// The command succeeded.
    Success = 0,
    /// The client was told to shut down.
    ClientInitiatedShutdown = 1,
    /// The service could not be launched.
    TaskLaunchFailure = 2,
    /// The command was interrupted.
    Interrupted = 3,
    /// The command line is wrong.
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
    /// An object named in a command does not exist.
    NotFound = 44,
    /// The operation is not allowed on this object.
    OperationNotAllowed = 45,
    /// The answer is not available in the requested form.
    NotAcceptable = 46,
    /// The host cannot be reached.
    Connectivity = 48,
    /// Two changes collided.
    Conflict = 49,
    /// A defect in the program.
    InternalError = 50,
    /// The command is unknown.
    Unimplemented = 51,
    /// The host is not ready to answer.
    ServiceUnavailable = 53,
    /// The version is not supported.
    UnsupportedVersion = 55,
    /// An exception, or a service that was unhealthy for too long.
    ExceptionThrown = 56,
    /// The application failed.
    ApplicationFailed = 65,
    /// The application was killed.
    ApplicationKilled = 66,
    /// A wait took too long.
    TimedOut = 67,
    /// The application finished and reported a failure.
    FinishedWithError = 68,
    /// The instance is unknown.
    UnknownInstance = 69,
    /// The state of the instance does not allow the command.
    BadState = 70,
    /// A process of the service failed.
    ProcessFailed = 71,
    /// Too many containers failed.
    DeploymentFailed = 72,
    /// The instance runs, or another client holds a lock on it.
    InUse = 73,
    /// The instance exists already.
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

    /// Returns Slider's number.
    #[must_use]
    pub fn code(self) -> i32 {
        self as i32
    }

    /// Returns the code that a shell sees: −1 becomes 255.
    #[must_use]
    pub fn process_code(self) -> u8 {
        self.code().rem_euclid(256).try_into().unwrap_or(u8::MAX)
    }
}
