// Room on the stack for values that are deep inside one another.

internal import Dispatch
internal import QuireStorage

/// Runs what needs more stack than the caller's thread may have.
///
/// A value inside a value takes up to 4 KiB of stack where nothing is optimized, and a thread may have no more than
/// half a MiB. So what is deeper than `Limits.shallowCodingDepth` is coded on a thread with room for
/// `Limits.codingDepth`, while the caller waits: the same limit holds on all threads and in all builds, and ordinary
/// rows pay nothing.
enum DeepStack {
  /// Runs `body` on another thread, and returns or throws what it does.
  ///
  /// - Throws: `limitReached` if the system has no thread to give; what `body` throws.
  static func run<Value>(_ body: @escaping () throws -> Value) throws -> Value {
    // Safe because the caller waits until the thread has done with it.
    nonisolated(unsafe) var body: (() throws -> Value)? = body
    // Safe because the caller looks at it when the thread has done with it.
    nonisolated(unsafe) var outcome: Result<Value, any Error>?
    let done = DispatchSemaphore(value: 0)
    do {
      try ThreadStarter.system.start {
        unsafe outcome = unsafe body.map { body in Result { try body() } }
        unsafe body = nil
        done.signal()
      }
    } catch {
      throw DatabaseError(
        .limitReached,
        """
        A value has more than \(Limits.shallowCodingDepth) values inside one another, and the system gave no thread to \
        code it on. Run fewer threads, or store flatter values.
        """, cause: error)
    }
    done.wait()
    guard let outcome = unsafe outcome else { preconditionFailure("the thread has left no outcome") }
    return try outcome.get()
  }
}
