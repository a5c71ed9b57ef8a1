// When the system lets the files of a database be read.

/// When the files of a database can be read, on systems that encrypt each file with keys which go while the device is
/// locked: iOS, iPadOS, tvOS, watchOS and visionOS. Anywhere else it changes nothing.
///
/// The class is given to every file that is opened for writing: the data file, segments of the log, those of both that
/// are made later, files for sorting, and backups. A call that the system refuses as the device is locked fails like
/// any other call of a disk's: reads throw `inputOutput`, writing stops with `failStop`, nothing that was acknowledged
/// is lost, and the database is to be opened again, or suspended and resumed, when the device is unlocked.
public enum FileProtection: Sendable, Hashable, CaseIterable {
  /// Readable while the device is unlocked.
  case complete
  /// Readable while the device is unlocked, and afterwards by those who have opened the file before. New segments of
  /// the log can be made while the device is locked, and the files cannot be opened again before it is unlocked.
  case completeUnlessOpen
  /// Readable from the first unlocking after the device was started: what the system chooses if nothing is chosen, and
  /// what suits databases that are used in the background.
  case completeUntilFirstUserAuthentication
  /// Always readable.
  case none

  /// The number of the class for the system's call.
  var number: Int32 {
    switch self {
    case .complete: 1
    case .completeUnlessOpen: 2
    case .completeUntilFirstUserAuthentication: 3
    case .none: 4
    }
  }
}
