// Room on the stack for values that are deep inside one another.

internal import CQuirePlatform
#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// What a coder may use of the stack that it runs on.
///
/// How much a value takes depends on its type and on the build: some hundred bytes where code is optimized, and four
/// KiB where it is not, or ten times the value if that is more. So it is measured, not counted.
struct StackRoom {
  /// What is below is reserved: for the frames of one more value, for what it calls, and for errors.
  private let limit: UInt
  /// How much there is above the limit, and below.
  private let byteCount: UInt
  private let reserve: UInt

  init(_ stack: quire_stack) {
    limit = UInt(stack.limit)
    byteCount = UInt(stack.high) &- UInt(stack.limit)
    reserve = UInt(stack.limit) &- UInt(stack.low)
  }

  /// The room on the calling thread's own stack. Constant time but for the first time on a thread.
  @inline(__always) static var ofThread: Self { Self(quire_thread_stack()) }

  /// The room on the stack that the calling thread runs on now, be it its own or a deep one.
  static var current: Self { DeepStack.current?.room ?? .ofThread }

  /// Whether there is room for one more value. False on any other stack than the one that this is about.
  @inline(__always) var isEnough: Bool { UInt(quire_stack_pointer()) &- limit < byteCount }

  /// Whether there is room for a value that has `count` bytes itself.
  func isEnough(for count: Int) -> Bool {
    let left = UInt(quire_stack_pointer()) &- limit
    return left < byteCount && left / UInt(Limits.stackPerByte) >= UInt(count)
  }

  /// Whether little is left even of what is reserved.
  var isGone: Bool {
    let used = limit &- UInt(quire_stack_pointer())
    return used > reserve / 4 * 3 && used <= reserve
  }

  /// Where a value can be coded.
  enum Choice {
    /// Here, where there is this room.
    case here(StackRoom)
    /// On a larger stack.
    case larger
    /// Nowhere.
    case nowhere
  }

  /// Looks where a value that has `count` bytes itself can be coded by the calling thread.
  static func choose(for count: Int) -> Choice {
    let deep = DeepStack.current
    let room = deep?.room ?? .ofThread
    if room.isEnough(for: count) { return .here(room) }
    return deep == nil ? .larger : .nowhere
  }
}

/// A second, large stack for the thread that codes a row, which it goes on with when its own is about to end.
///
/// Code runs on the same thread there: its locks, its task-local values, its actor and its transactions are what they
/// are on the thread's own stack.
final class DeepStack {
  private let stack: quire_stack
  /// What may be used of it.
  let room: StackRoom

  /// How much is reserved, in bytes; less where the system does not give that. Only what is touched takes memory.
  static let byteCounts = [64 << 20, 16 << 20, 4 << 20]

  /// Reserves the memory.
  ///
  /// - Throws: `limitReached` if the system has none to give.
  init() throws {
    var stack = quire_stack()
    guard Self.byteCounts.contains(where: { unsafe quire_make_stack($0, &stack) != 0 }) else {
      throw DatabaseError(
        .limitReached,
        """
        The values of a row take more stack than the thread has, and the system gave no memory for a larger one. Use \
        less memory, or store flatter values.
        """)
    }
    self.stack = stack
    room = StackRoom(stack)
  }

  deinit { quire_free_stack(stack) }

  // MARK: The current one

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let result = unsafe pthread_key_create(&key, nil)
    precondition(result == 0, "the system gave no thread-local key (error \(result))")
    return key
  }()

  /// The one that the calling thread runs on.
  static var current: DeepStack? {
    guard let pointer = unsafe pthread_getspecific(key) else { return nil }
    return unsafe Unmanaged<DeepStack>.fromOpaque(pointer).takeUnretainedValue()
  }

  private static func setCurrent(_ stack: DeepStack?) {
    _ = unsafe pthread_setspecific(key, stack.map { unsafe UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) })
  }

  // MARK: Running

  /// Runs `body` on the stack, and returns or throws what it does; nil, without having run it, on a processor for which
  /// it is not known how. Not to be called while another body runs on it.
  func run<Value>(_ body: () throws -> Value) throws -> Value? {
    var outcome: Result<Value, any Error>?
    withoutActuallyEscaping(body) { body in
      var work: () -> Void = { outcome = Result { try body() } }
      Self.setCurrent(self)
      defer { Self.setCurrent(nil) }
      _ = unsafe withUnsafeMutablePointer(to: &work) { work in
        unsafe quire_call_on_stack(stack, { unsafe $0?.assumingMemoryBound(to: (() -> Void).self).pointee() }, work)
      }
      // The closure must not outlive this one.
      work = {}
    }
    return try outcome?.get()
  }
}

/// What does not let a value be coded: it is too deep inside others, or those and it are too large.
enum CodingExcess {
  case depth, size, stack

  /// What an error says.
  var message: String {
    switch self {
    case .depth: "There are more than \(Limits.codingDepth) values inside one another."
    case .size:
      """
      Values with more than \(Limits.nestedByteCount) bytes of their own are inside one another. Keep what is large in \
      classes or lists, or store flatter values.
      """
    case .stack:
      """
      The values inside one another take more stack than there is. Keep what is large in classes or lists, or store \
      flatter values.
      """
    }
  }
}
