// The lines of a control socket, as the app says them and tools understand them.

internal import QuireStorage

/// What the app says to a tool. To each request there are any number of lines of progress, entries and defects, and one
/// that ends them, which says that it is done, or what went wrong.
enum ControlAnswer {
  /// How long a text may be, in bytes: with what JSON adds, six bytes for one at the most, a line has room for two.
  static let textByteCount = 4_000

  /// The first line of a conversation.
  static func greeting(_ path: String, _ identity: FileIdentity) -> RowValue {
    .record(
      [RowValue.Field("quire control", .integer(Int128(ControlStream.version))), .init("path", text(path))]
        + fields(identity))
  }

  /// The fields that tell which file it is.
  static func fields(_ identity: FileIdentity) -> [RowValue.Field] {
    [.init("device", .integer(Int128(identity.device))), .init("inode", .integer(Int128(identity.inode)))]
  }

  /// Which file a line tells of; nil if it tells of none.
  static func identity(_ line: RowValue) -> FileIdentity? {
    guard let device = line["device"]?.integer.flatMap({ UInt64(exactly: $0) }),
      let inode = line["inode"]?.integer.flatMap({ UInt64(exactly: $0) })
    else { return nil }
    return FileIdentity(device: device, inode: inode)
  }

  /// The work has come so far.
  static func progress(_ progress: StorageProgress) -> RowValue {
    [
      "progress": .text(progress.phase.description), "units": .integer(Int128(progress.done)),
      "total": .integer(Int128(progress.total)),
    ]
  }

  /// Something is wrong with the database.
  static func defect(_ defect: String) -> RowValue { ["defect": text(defect)] }

  /// A tree of a checkpoint.
  static func entry(_ entry: CheckpointImage.Entry) -> RowValue {
    ["tree": .integer(Int128(entry.id)), "bytes": .bytes(entry.bytes)]
  }

  /// What was asked for is done.
  static func done(_ result: RowValue = .record([])) -> RowValue { ["done": result] }

  /// What was asked for cannot be done.
  static func failed(_ error: DatabaseError) -> RowValue {
    [
      "error": .text(error.code.description), "message": text(error.message),
      "path": error.path.map { text($0) } ?? nil,
    ]
  }

  /// A text, or the beginning of a long one.
  static func text(_ text: String, byteCount: Int = textByteCount) -> RowValue {
    guard text.utf8.count > byteCount else { return .text(text) }
    return .text(String(decoding: text.utf8.prefix(byteCount), as: UTF8.self) + "…")
  }

  /// The error that a line tells; nil if it tells none.
  static func error(_ line: RowValue) -> DatabaseError? {
    guard let code = line["error"]?.text else { return nil }
    return DatabaseError(
      DatabaseError.Code(code), line["message"]?.text ?? "The app does not say why.", path: line["path"]?.text)
  }
}
