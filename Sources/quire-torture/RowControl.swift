// Lies that a life must notice: of each there is a way to see that it would.

/// Something that goes wrong on purpose.
enum RowControl: String, CaseIterable, Sendable {
  /// The disk forgets the last transaction at a crash.
  case forgets
  /// A kill of the process takes what a power cut may take.
  case kills
  /// A transaction of which the caller is told that it was refused is there.
  case refusals
  /// An error comes although the disk has done nothing.
  case alarms
  /// A crash takes a file that a row names.
  case lostFiles
  /// Files are not deleted.
  case leftFiles
  /// Files are deleted, and the folder is not told.
  case unsyncedFiles
  /// A relationship does not ask the rows of one group.
  case edges
  /// A full text does not have the tags of one group.
  case words
  /// New notes have a wrong length.
  case lengths
  /// A backup that was reported has one wrong bit, or is gone.
  case backups
  /// A backup that was stopped is left half under its name.
  case halfBackups
  /// A disk that forgets, when an opening was cut off.
  case openings
  /// Encrypted rows are not.
  case secrets

  /// Whether lives can meet it in this build.
  var isOn: Bool { self != .secrets || RowSecrets.isOn }
}
