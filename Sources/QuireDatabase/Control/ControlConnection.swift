// One tool that is connected to a control socket, and what it asks for.

internal import QuireStorage

/// A conversation with a tool, on a thread of its own.
///
/// | request | the app |
/// |---|---|
/// | `hold` | makes a checkpoint, holds its snapshot as long as the connection stands, and tells what opens it |
/// | `confirm` | says that it still holds it |
/// | `info` | tells figures |
/// | `checkpoint` | writes all that is in the log home |
/// | `compact` | makes the file short, telling how far it is |
/// | `check` | checks pages, and rows unless it is of `pages` alone, telling how far it is, and what is wrong |
final class ControlConnection {
  /// For how long a tool may not take a line that is said.
  private static let writeTime: UInt64 = 10_000_000_000
  /// For how long a tool that holds nothing may ask for nothing.
  private static let idleTime: UInt64 = 600_000_000_000

  private let server: ControlServer
  private let stream: ControlStream
  private let peer: LocalSocket.Peer
  private var core: DatabaseCore { server.core }
  private var held: (checkpoint: HeldCheckpoint, holder: SnapshotHolder)?
  /// When the tool has held its snapshot, or said nothing, for too long.
  private var end: UInt64

  init(_ server: ControlServer, _ socket: LocalSocket, _ peer: LocalSocket.Peer) {
    self.server = server
    self.peer = peer
    stream = ControlStream(socket)
    end = ControlStream.deadline(in: Self.idleTime)
  }

  /// Answers until the tool goes, the time is over, or the socket is closed. What went wrong in a conversation is told
  /// there, and is nobody else's affair.
  func run() {
    defer { release() }
    do throws(ControlFailure) {
      try say(ControlAnswer.greeting(core.path, server.identity))
      while !server.isClosing, MonotonicClock.now < end {
        do throws(ControlFailure) {
          guard let request = try stream.next(until: end) else { return }
          try answer(request)
        } catch .malformed {
          try refuse("A line is no JSON record.")
        } catch .tooLong {
          return try refuse("A line has more than \(ControlStream.lineByteCount) bytes.")
        }
        if held == nil { end = ControlStream.deadline(in: Self.idleTime) }
      }
    } catch {}
  }

  private func say(_ line: RowValue) throws(ControlFailure) {
    let deadline = ControlStream.deadline(in: Self.writeTime)
    try stream.say(line, until: held == nil ? deadline : min(deadline, end))
  }

  private func refuse(_ why: String) throws(ControlFailure) {
    try say(ControlAnswer.failed(DatabaseError(.invalidOption, "\(why) Use a tool of the app's version.")))
  }

  private func release() {
    guard let (checkpoint, holder) = held else { return }
    held = nil
    assert(checkpoint.csn <= core.publishedCSN, "a checkpoint was held that nobody made")
    checkpoint.end()
    core.holders.remove(holder)
  }

  // MARK: Requests

  private func answer(_ request: RowValue) throws(ControlFailure) {
    let result: RowValue
    do {
      switch request["request"]?.text {
      case "hold": result = try hold()
      case "confirm": result = try confirm()
      case "info": result = info()
      case "checkpoint": result = try checkpoint()
      case "compact": result = try compact()
      case "check": result = try check(request)
      default: return try refuse("The app does not know this request.")
      }
    } catch let failure as ControlFailure {
      throw failure
    } catch {
      let told =
        (error as? StorageError).map { DatabaseError($0) } ?? error as? DatabaseError
        ?? DatabaseError(.inputOutput, "\(error)", path: core.path)
      return try say(ControlAnswer.failed(told))
    }
    try say(ControlAnswer.done(result))
  }

  /// Tells how far work has come, and ends it where nobody waits for it any more.
  private func report(_ progress: StorageProgress) throws {
    try checkGoesOn()
    try stream.mention(ControlAnswer.progress(progress))
  }

  /// Ends work that nobody waits for any more, or whose tool has held its snapshot for too long.
  private func checkGoesOn() throws(ControlFailure) {
    if server.isClosing { throw .ended }
    if held != nil, MonotonicClock.now >= end { throw .late }
  }

  private func hold() throws -> RowValue {
    guard held == nil else {
      throw DatabaseError(.inUse, "This connection holds a snapshot already. Use another one.", path: core.path)
    }
    let checkpoint = try core.storage.holdCheckpoint()
    let holder = core.holders.add()
    let name = "control: pid \(peer.process.map { "\($0)" } ?? "unknown")"
    holder.hold(
      checkpoint.csn, .work, CallSite(fileID: "quire.control", line: 0), core.holders.names.number(of: name))
    held = (checkpoint, holder)
    end = ControlStream.deadline(in: server.options.holdLimit.nanoseconds)
    let image = checkpoint.image
    for entry in image.entries { try say(ControlAnswer.entry(entry)) }
    let fields: [RowValue.Field] = [
      .init("commit", .integer(Int128(checkpoint.csn.rawValue))), .init("meta", .bytes(image.meta)),
      .init("trees", .integer(Int128(image.entries.count))),
    ]
    return .record(fields + ControlAnswer.fields(image.identity))
  }

  private func confirm() throws -> RowValue {
    guard let held, MonotonicClock.now < end else {
      throw DatabaseError(.closed, "The snapshot is not held any more. Try again.", path: core.path)
    }
    return ["commit": .integer(Int128(held.checkpoint.csn.rawValue))]
  }

  private func info() -> RowValue {
    func number(_ value: some BinaryInteger) -> RowValue { .integer(Int128(value)) }
    let figures = core.engine.statistics
    return [
      "commit": number(figures.publishedCSN.rawValue), "pages": number(figures.filePages),
      "free pages": number(figures.freePages), "held pages": number(figures.heldPages),
      "dirty pages": number(figures.dirtyPages), "resident pages": number(figures.residentPages),
      "readers": number(figures.readers), "oldest commit": number(figures.oldestCSN.rawValue),
      "commits": number(figures.commits), "checkpoints": number(figures.checkpoints),
      "log bytes": number(figures.logBytes), "flushes": number(figures.flushes),
      // The oldest are those that cost something. Connections have names that apps choose.
      "snapshots": .list(
        core.holders.held().prefix(10).map { ControlAnswer.text($0.snapshot.description, byteCount: 500) }),
    ]
  }

  private func checkpoint() throws -> RowValue {
    try core.engine.checkpoint()
    return ["commit": .integer(Int128(core.publishedCSN.rawValue))]
  }

  private func compact() throws -> RowValue {
    let before = core.engine.statistics.filePages
    try Database(core).compact { progress in try report(progress) }
    let after = core.engine.statistics.filePages
    return ["pages before": .integer(Int128(before)), "pages": .integer(Int128(after))]
  }

  private func check(_ request: RowValue) throws -> RowValue {
    let limit = Int(clamping: max(1, min(request["limit"]?.integer ?? 100, 10_000)))
    let work = LongWork(core, "quire.verify", holdsSnapshot: true)
    defer { work.end(nil) }
    var defects = try core.engine.defects(limit: limit) { progress in try report(progress) }.map(\.description)
    // What lies in damaged pages is not looked at: it would be told as lost over and over.
    if defects.isEmpty, request["pages"]?.bool != true {
      defects = try DefectSearch(core: core, limit: limit).run(checkGoesOn).map(\.description)
    }
    for defect in defects.prefix(limit) { try say(ControlAnswer.defect(defect)) }
    return ["defects": .integer(Int128(min(limit, defects.count)))]
  }
}
