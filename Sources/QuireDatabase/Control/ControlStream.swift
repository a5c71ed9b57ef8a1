// What is said over a control socket: lines, each a record as JSON.

internal import QuireStorage

/// Why a conversation is over.
enum ControlFailure: Error {
  /// The other side has gone.
  case ended
  /// The other side has not taken or said anything in time.
  case late
  /// A line is longer than lines are.
  case tooLong
  /// A line is no record.
  case malformed
}

/// The lines of one connection. For one thread.
///
/// Invariant: `pending` has at most a line and a chunk, `unsent` at most a line.
final class ControlStream {
  /// The version of what is said; the first line of the app's has it.
  static let version = 1
  /// The bytes that a line may have.
  static let lineByteCount = 64 << 10
  private static let chunkByteCount = 4096

  let socket: LocalSocket
  private var pending: [UInt8] = []
  /// How far `pending` has been searched for the end of a line.
  private var searched = 0
  /// The rest of a line that the other side has not taken yet.
  private var unsent: ArraySlice<UInt8> = []

  init(_ socket: LocalSocket) { self.socket = socket }

  /// The time on the monotonic clock in so many nanoseconds, which may be as many as there are.
  static func deadline(in nanoseconds: UInt64) -> UInt64 {
    let (time, isLate) = MonotonicClock.now.addingReportingOverflow(nanoseconds)
    return isLate ? .max : time
  }

  /// The next line; nil if the other side is done. `malformed` ends nothing: the next call has the next line.
  ///
  /// - Parameter deadline: when it is `late`, on the monotonic clock.
  func next(until deadline: UInt64) throws(ControlFailure) -> RowValue? {
    while true {
      if let end = pending[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        guard end <= Self.lineByteCount else { throw .tooLong }
        let line = Array(pending[..<end])
        pending.removeSubrange(...end)
        searched = 0
        guard let value = try? RowValue(line: line), value.kind == .record else { throw .malformed }
        return value
      }
      searched = pending.count
      guard pending.count <= Self.lineByteCount else { throw .tooLong }
      // Also of somebody who says a byte now and then.
      guard MonotonicClock.now < deadline else { throw .late }
      switch socket.receive(into: &pending, limit: Self.chunkByteCount, until: deadline) {
      case .ended: return nil
      case .moved(0): throw .late
      case .moved: break
      }
    }
  }

  /// Says a line; waits until `deadline` for the other side to take it.
  func say(_ value: RowValue, until deadline: UInt64) throws(ControlFailure) {
    try flush(until: deadline)
    unsent = Self.line(value)
    try flush(until: deadline)
  }

  /// Says a line that nobody misses, unless the other side has not taken the one before: waits for nothing.
  func mention(_ value: RowValue) throws(ControlFailure) {
    if unsent.isEmpty { unsent = Self.line(value) }
    do { try flush(until: 0) } catch .late {}
  }

  private static func line(_ value: RowValue) -> ArraySlice<UInt8> {
    let line = Array(value.json.utf8) + [UInt8(ascii: "\n")]
    assert(line.count <= lineByteCount + 1, "a line is said that nobody takes")
    return line[...]
  }

  private func flush(until deadline: UInt64) throws(ControlFailure) {
    while !unsent.isEmpty {
      switch socket.send(unsent, until: deadline) {
      case .ended: throw .ended
      case .moved(0): throw .late
      case .moved(let count): unsent = unsent.dropFirst(count)
      }
    }
    unsent = []
  }
}
