// What was asked of the simulated disk and how it answered: counters, an optional list, and a hash that proves that a
// seed gives the same run twice.

/// What a call asks of the disk.
package enum OperationKind: UInt8, Sendable, CaseIterable {
  /// Opens or creates a file.
  case open
  /// Gives a file another name.
  case link
  /// Moves a name over another one.
  case rename
  /// Takes a name away.
  case unlink
  /// Makes names durable.
  case synchronizeDirectory
  /// Reads bytes.
  case read
  /// Writes bytes.
  case write
  /// Cuts or extends a file.
  case resize
  /// Makes bytes and length durable.
  case synchronize
  /// Asks for length and identity.
  case status
  /// Takes a lock.
  case lock
  /// Gives a part of a file blocks of its own.
  case allocate

  /// The system call that stands behind it, as errors name it.
  package var call: String {
    switch self {
    case .open: "open"
    case .link: "link"
    case .rename: "rename"
    case .unlink: "unlink"
    case .synchronizeDirectory: "fsync"
    case .read: "pread"
    case .write: "pwrite"
    case .resize: "ftruncate"
    case .synchronize: "fdatasync"
    case .status: "fstat"
    case .lock: "flock"
    case .allocate: "posix_fallocate"
    }
  }
}

/// One call to the disk with its arguments.
package struct DiskOperation: Sendable {
  /// What is asked.
  package var kind: OperationKind
  /// The path given at opening, or the path the name operation is about.
  package var path: String
  /// Where in the file, or the new length of a resize; 0 for the others.
  package var offset = 0
  /// How many bytes were asked for; 0 for calls that move none.
  package var count = 0
  /// Whether the call can change what is on the disk. Only between such calls do crashes differ.
  package var isChange = false
}

/// One call and its answer.
package struct TracedOperation: Sendable, CustomStringConvertible {
  /// The number of the call, from 0.
  package let number: Int
  /// What was asked.
  package let operation: DiskOperation
  /// What the call returned, or the negative error number.
  package let result: Int

  package var description: String {
    var text = "\(number) \(operation.kind) \(operation.path)"
    if operation.count > 0 || operation.offset > 0 { text += " at \(operation.offset), \(operation.count) bytes" }
    return text + (result < 0 ? ", error \(-result)" : ", \(result)")
  }
}

/// How much was asked of the disk since it was made.
package struct DiskCounters: Hashable, Sendable {
  /// How often each kind of call was made, by the raw value of the kind.
  private var calls = [Int](repeating: 0, count: OperationKind.allCases.count)
  /// Bytes that reads returned.
  package fileprivate(set) var readByteCount = 0
  /// Bytes that writes took.
  package fileprivate(set) var writtenByteCount = 0
  /// Calls that ended with an error.
  package fileprivate(set) var failureCount = 0
  /// Calls that ended with an error that only a failing or full disk gives.
  package fileprivate(set) var faultCount = 0
  /// Calls that moved fewer bytes than asked for, ends of files included.
  package fileprivate(set) var shortCount = 0

  /// How often `kind` was called.
  package subscript(kind: OperationKind) -> Int { calls[Int(kind.rawValue)] }

  fileprivate mutating func count(_ kind: OperationKind) { calls[Int(kind.rawValue)] += 1 }
}

/// Counters, hash and list of one disk.
struct DiskTrace: Sendable {
  private(set) var counters = DiskCounters()
  private(set) var hash = StableHash(seed: 1)
  private(set) var operations: [TracedOperation] = []
  var isRecording = false

  /// What a healthy disk answers too, and what every program has to bear.
  private static let usualCodes = [
    SystemCode.noEntry, SystemCode.exists, SystemCode.wouldBlock, SystemCode.badFile, SystemCode.interrupted,
  ]

  /// Enters one answered call. O(1), without the list free of allocations.
  mutating func record(_ operation: DiskOperation, number: Int, result: Int) {
    counters.count(operation.kind)
    if result < 0 {
      counters.failureCount += 1
      if !Self.usualCodes.contains(Int32(-result)) { counters.faultCount += 1 }
    } else if operation.kind == .read || operation.kind == .write {
      if operation.kind == .read { counters.readByteCount += result } else { counters.writtenByteCount += result }
      if result < operation.count { counters.shortCount += 1 }
    }
    hash.combine(UInt64(operation.kind.rawValue) << 56 ^ UInt64(truncatingIfNeeded: number))
    hash.combine(operation.path)
    hash.combine(operation.offset)
    hash.combine(operation.count)
    hash.combine(result)
    if isRecording {
      operations.append(TracedOperation(number: number, operation: operation, result: result))
    }
  }

  /// Enters the bytes that a write took.
  mutating func mix(_ bytes: UnsafeRawBufferPointer) { hash.combine(bytes) }
}
