// The tool's end of a control socket.

package import QuireStorage

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// A connection to the control socket of an app. For one thread.
///
/// Whatever the other side says is refused where it is not what it must be; its memory is bounded by
/// `imageByteCount`.
package final class ControlClient {
  /// How long an app may say nothing: a checkpoint has to be done within this time.
  private static let silence: UInt64 = 300_000_000_000
  /// How long an answer may take that costs the app nothing.
  private static let answerTime: UInt64 = 10_000_000_000
  /// How much an image may take.
  private static let imageByteCount = 64 << 20

  private let stream: ControlStream
  private let path: String
  /// What the app says that it has open: which file, and by what path.
  private var database: (identity: FileIdentity, path: String)?
  /// The app's process; nil where the system does not tell.
  package let process: Int32?
  private var heldCommit: Int128?

  private init(_ socket: LocalSocket, _ path: String, _ process: Int32?) {
    stream = ControlStream(socket)
    self.path = path
    self.process = process
  }

  /// Connects to the socket at `path`; nil if there is none that somebody listens to.
  ///
  /// - Throws: `limitReached` if the app serves as many as it does, or lets none in; `newerFormat` if it speaks another
  ///   version; `inputOutput`.
  package static func connect(to path: String) throws(DatabaseError) -> ControlClient? {
    let socket: LocalSocket
    do throws(SystemError) {
      socket = try LocalSocket.connected(to: path, until: ControlStream.deadline(in: answerTime))
    } catch {
      if error.code == EAGAIN {
        throw DatabaseError(
          .limitReached, "Many tools wait for the app already, and it hears none of them. Try again later.", path: path,
          cause: error)
      }
      if [ENOENT, ECONNREFUSED, ENOTSOCK, ENAMETOOLONG, ENOTDIR].contains(error.code) { return nil }
      throw DatabaseError(
        .inputOutput, "The control socket does not let this process in. Run the tool as the user that runs the app.",
        path: path, cause: error)
    }
    guard let peer = socket.peer, peer.user == geteuid() else {
      throw DatabaseError(
        .inputOutput, "The control socket is another user's. Run the tool as the user that runs the app.", path: path)
    }
    let client = ControlClient(socket, path, peer.process)
    let line = try client.line(within: answerTime)
    if let error = ControlAnswer.error(line) { throw error }
    guard line["quire control"]?.integer == Int128(ControlStream.version) else {
      throw DatabaseError(
        .newerFormat, "The app speaks another version of the control socket. Use a tool of the app's version.",
        path: path)
    }
    guard let identity = ControlAnswer.identity(line), let database = line["path"]?.text else { throw client.strange() }
    client.database = (identity, database)
    return client
  }

  /// Sees that the app has the database at `file` open, and not another one: a socket may be named by mistake, and a
  /// file may have been renamed since.
  ///
  /// - Throws: `fileChanged` if it is another one; what opening a database at `file` throws, such as `notFound`.
  package func checkOpen(_ file: String) throws(DatabaseError) {
    let found: FileIdentity
    do throws(SystemError) {
      let data = try RealFileSystem().open(file, .readOnly)
      defer { data.close() }
      found = try data.status().identity
    } catch {
      throw DatabaseError(StorageError(opening: error, path: file))
    }
    guard let database, database.identity != found else { return }
    throw DatabaseError(
      .fileChanged,
      """
      The app behind this control socket has another file open: it opened it as \(database.path). Name that one, or \
      the socket of the app that has this one open.
      """, path: file)
  }

  // MARK: Requests

  /// Has the app hold a checkpoint until the connection ends; returns what opens it.
  package func hold() throws(DatabaseError) -> CheckpointImage {
    var entries: [CheckpointImage.Entry] = []
    var byteCount = 0
    let result = try ask("hold", within: Self.silence) { line throws(DatabaseError) in
      guard let id = line["tree"]?.integer.flatMap({ UInt64(exactly: $0) }), let bytes = line["bytes"]?.bytes else {
        throw strange()
      }
      byteCount += bytes.count + MemoryLayout<CheckpointImage.Entry>.stride
      guard byteCount <= Self.imageByteCount else { throw strange() }
      entries.append(CheckpointImage.Entry(id: id, bytes: bytes))
    }
    guard let commit = result["commit"]?.integer, let meta = result["meta"]?.bytes,
      let identity = ControlAnswer.identity(result),
      result["trees"]?.integer == Int128(entries.count)
    else { throw strange() }
    heldCommit = commit
    return CheckpointImage(meta: meta, identity: identity, entries: entries)
  }

  /// Asks whether the app still holds the checkpoint: what has been read until now counts if this returns.
  ///
  /// The app has to answer: a connection may stand because somebody else has a copy of its end, as a child of the
  /// app's that was forked (hazard D15).
  ///
  /// - Throws: `closed`, with what to do.
  package func confirm() throws(DatabaseError) {
    do throws(DatabaseError) {
      let result = try ask("confirm", within: Self.answerTime) { _ throws(DatabaseError) in throw self.strange() }
      if let heldCommit, result["commit"]?.integer == heldCommit { return }
    } catch {
      throw DatabaseError(
        .closed, "The app does not hold the snapshot any more, so what was read does not count. Try again.",
        path: path, cause: error)
    }
    throw strange()
  }

  /// Has the app do something: `info`, `checkpoint`, `compact`.
  ///
  /// - Parameter progress: gets how far it is: what is being done, units done, and units in all.
  package func run(
    _ request: String, progress: (String, Int, Int) -> Void = { _, _, _ in }
  ) throws(DatabaseError) -> RowValue {
    try ask(request, within: Self.silence) { line throws(DatabaseError) in try self.tell(line, progress) }
  }

  /// Has the app check itself: pages, and rows unless they are left out. Returns what is wrong.
  package func check(
    limit: Int, ofPagesAlone: Bool = false, progress: (String, Int, Int) -> Void
  ) throws(DatabaseError) -> [String] {
    var defects: [String] = []
    let arguments = [RowValue.Field("limit", .integer(Int128(limit))), RowValue.Field("pages", .bool(ofPagesAlone))]
    _ = try ask("check", arguments, within: .max) { line throws(DatabaseError) in
      guard let defect = line["defect"]?.text else { return try self.tell(line, progress) }
      guard defects.count < limit else { throw self.strange() }
      defects.append(defect)
    }
    return defects
  }

  private func tell(_ line: RowValue, _ progress: (String, Int, Int) -> Void) throws(DatabaseError) {
    guard let phase = line["progress"]?.text, let done = line["units"]?.integer.flatMap({ Int(exactly: $0) }),
      let total = line["total"]?.integer.flatMap({ Int(exactly: $0) })
    else { throw strange() }
    progress(phase, max(0, done), max(0, total))
  }

  // MARK: Lines

  /// Says a request and takes its answer: each line until the last goes to `body`.
  private func ask(
    _ request: String, _ arguments: [RowValue.Field] = [], within time: UInt64,
    _ body: (RowValue) throws(DatabaseError) -> Void
  ) throws(DatabaseError) -> RowValue {
    do throws(ControlFailure) {
      let line = RowValue.record([RowValue.Field("request", .text(request))] + arguments)
      try stream.say(line, until: ControlStream.deadline(in: Self.answerTime))
    } catch {
      throw broken(error)
    }
    while true {
      let line = try self.line(within: time)
      if let error = ControlAnswer.error(line) { throw error }
      if let result = line["done"] { return result }
      try body(line)
    }
  }

  private func line(within time: UInt64) throws(DatabaseError) -> RowValue {
    do throws(ControlFailure) {
      if let line = try stream.next(until: ControlStream.deadline(in: time)) { return line }
    } catch {
      throw broken(error)
    }
    throw broken(.ended)
  }

  private func broken(_ failure: ControlFailure) -> DatabaseError {
    switch failure {
    case .ended: DatabaseError(.closed, "The app has ended the connection, or has ended itself. Try again.", path: path)
    case .late: DatabaseError(.inputOutput, "The app does not answer. See what it is doing, or try again.", path: path)
    case .tooLong, .malformed: strange()
    }
  }

  private func strange() -> DatabaseError {
    DatabaseError(
      .inputOutput, "What listens at this path answers as no control socket does. Check the path.", path: path)
  }
}
